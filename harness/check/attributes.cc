// Parses a dump's attributes one by one and adds an error for each wrong or misspelt one.
#include "harness/check/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "harness/base/text.h"

namespace plumbline {
namespace {

using namespace std::string_view_literals;

constexpr const char* corners =
    "state mask = causal_top_left (as PyTorch's is_causal), or mask = causal_bottom_right (as "
    "FlashAttention and FlashInfer)";

template <class T>
using Words = std::vector<std::pair<std::string_view, T>>;

// Reads one attribute at a time. Each value adds at most one error.
class Reader {
 public:
  Reader(const std::string& dump, const Attributes& attributes, Errors& errors)
      : dump_(dump), attributes_(attributes), errors_(errors) {}

  StatedAttributes read() {
    StatedAttributes stated;
    stated.layout = word<Layout>("layout", {{"padded_bshd", Layout::padded_bshd},
                                            {"padded_bhsd", Layout::padded_bhsd},
                                            {"ragged", Layout::ragged},
                                            {"paged_nhd", Layout::paged_nhd},
                                            {"paged_hnd", Layout::paged_hnd},
                                            {"bshd", Layout::padded_bshd},
                                            {"bhsd", Layout::padded_bhsd}});
    stated.causal = is_true("causal") || text("mask") == "causal";
    if (text("mask") != "causal") stated.mask = read_mask();
    read_is_causal(stated);
    stated.lse_base = word<int>("lse_base", {{"e", 0}, {"2", 2}});
    stated.lse_heads_first =
        word<bool>("lse_layout", {{"heads_first", true}, {"heads_last", false}});
    stated.padding = word<Padding>("padding", {{"right", Padding::right}, {"left", Padding::left}});
    stated.dtype =
        word<DType>("dtype", {{"fp32", DType::f32}, {"fp16", DType::f16}, {"bf16", DType::bf16}});
    if (const auto rows = word<std::string_view>(
            "padded_rows",
            {{"zeros", "zeros"}, {"attended", "attended"}, {"anything", "anything"}}))
      stated.padded_rows = *rows;
    stated.spec = text("spec");
    read_numbers(stated);
    if (stated.mask == Mask::none && stated.causal)
      add("causal", "contradicts mask = none", "state only one of the two");
    find_near_misses();
    return stated;
  }

 private:
  std::string text(std::string_view name) const {
    const auto found = attributes_.find(std::string(name));
    return found == attributes_.end() ? "" : found->second;
  }

  void add(std::string_view name, std::string_view what, std::string remedy) {
    errors_.push_back({dump_, 0, fmt::format("attribute {}: {}", name, what), std::move(remedy)});
  }

  template <class T>
  std::optional<T> word(std::string_view name, const Words<T>& words) {
    const std::string value = text(name);
    if (value.empty()) return std::nullopt;
    std::vector<std::string_view> allowed;
    for (const auto& [spelling, meaning] : words) {
      if (spelling == value) return meaning;
      allowed.push_back(spelling);
    }
    const auto near = nearest_word(value, allowed);
    add(name,
        fmt::format("\"{}\" is not known{}", value,
                    near ? fmt::format("; did you mean {}?", *near) : ""),
        fmt::format("one of {}", fmt::join(allowed, ", ")));
    return std::nullopt;
  }

  // `which`: the condition of is_allowed in words.
  template <class Number, class IsAllowed>
  std::optional<Number> number(std::string_view name,
                               std::optional<Number> (*parse)(std::string_view),
                               IsAllowed is_allowed, std::string_view which, const char* remedy) {
    const std::string value = text(name);
    if (value.empty()) return std::nullopt;
    const auto parsed = parse(value);
    if (parsed && is_allowed(*parsed)) return parsed;
    add(name, fmt::format("\"{}\" is not a number {}", value, which), remedy);
    return std::nullopt;
  }

  void read_numbers(StatedAttributes& stated) {
    const auto above_0 = [](double x) { return x > 0; };
    const auto from_0_on = [](double x) { return x >= 0 && std::isfinite(x); };
    const auto above_none = [](std::int64_t n) { return n >= 1; };
    stated.scale =
        number("scale", parse_real, above_0, "above 0", "the factor of q.k, for example 0.125")
            .value_or(0);
    stated.softcap = number("softcap", parse_real, from_0_on, "from 0 on",
                            "c where logits become c tanh(logit / c), for example 50; 0 = none")
                         .value_or(0);
    stated.page_size =
        number("page_size", parse_integer, above_none, "of tokens", "for example 16");
    stated.scale_block =
        number("scale_block", parse_integer, above_none, "of tokens", "for example 64");
    if (const std::string value = text("window"); !value.empty()) read_window(value, stated);
  }

  void read_window(const std::string& value, StatedAttributes& stated) {
    Problem problem;
    const std::string both = value.find(',') == std::string::npos ? value + ",-1" : value;
    if (const auto message = set_field(problem, "window", both)) {
      return add("window", *message, "left,right in keys, for example 127,0; -1 = unlimited");
    }
    stated.window_left = problem.window_left;
    stated.window_right = problem.window_right;
  }

  std::optional<Mask> read_mask() {
    return word<Mask>("mask", {{"none", Mask::none},
                               {"causal_top_left", Mask::causal_top_left},
                               {"causal_bottom_right", Mask::causal_bottom_right}});
  }

  bool is_true(std::string_view name) {
    return word<bool>(name, {{"true", true},
                             {"false", false},
                             {"1", true},
                             {"0", false},
                             {"True", true},
                             {"False", false}})
        .value_or(false);
  }

  // PyTorch's is_causal means the top-left corner.
  void read_is_causal(StatedAttributes& stated) {
    if (!is_true("is_causal")) return;
    if (stated.mask.value_or(Mask::causal_top_left) != Mask::causal_top_left)
      add("is_causal", fmt::format("contradicts mask = {}", name(*stated.mask)), corners);
    stated.mask = Mask::causal_top_left;
  }

  // A misspelt attribute would be ignored, and the dump judged as another problem.
  void find_near_misses() {
    for (const auto& [name, value] : attributes_) {
      if (attribute_names().count(name) != 0) continue;
      for (const auto& [known, sentence] : attribute_names()) {
        if (name.size() > 3 && edit_distance(name, known) == 1)
          add(name, "is not known", fmt::format("did you mean {}?", known));
      }
    }
  }

  const std::string& dump_;
  const Attributes& attributes_;
  Errors& errors_;
};

}  // namespace

const std::map<std::string, std::string>& attribute_names() {
  static const std::map<std::string, std::string> names{
      {"layout",
       "padded_bshd (bshd), padded_bhsd (bhsd), ragged, paged_nhd or paged_hnd: order of the "
       "dimensions; inferred from the tensors if only "
       "one layout fits"},
      {"mask",
       "none (default), causal_top_left (PyTorch is_causal) or causal_bottom_right "
       "(FlashAttention, FlashInfer); causal = the attribute causal"},
      {"causal",
       "a causal mask, if every sample has as many queries as keys, so that both corners agree"},
      {"is_causal", "causal as PyTorch defines it: mask = causal_top_left"},
      {"window", "left,right: keys seen before and after the diagonal, -1 = unlimited (default)"},
      {"scale", "factor of q.k; default 1/sqrt(head dim)"},
      {"lse_base", "e (default) or 2: base of the logarithm in lse"},
      {"lse_layout",
       "heads_last ([batch, seq, heads], [total, heads]) or heads_first; only needed if both "
       "fit"},
      {"padding", "right (default) or left: the padded end of a padded layout"},
      {"padded_rows",
       "zeros or attended: what padded query rows must hold; anything (default): not checked"},
      {"page_size", "tokens in a page; only needed if both paged layouts fit"},
      {"scale_block", "tokens that share an fp8 scale; only needed if a block has more than one"},
      {"dtype",
       "fp32, fp16 or bf16: what the kernel computed in, if q, k, v and out differ in dtype or "
       "were saved as F32 or F64 (NumPy has no bf16)"},
      {"softcap", "c: scaled logits become c tanh(logit / c); default 0 = none"},
      {"spec",
       "what the kernel rounds: a name of the ladder (FlashAttention-2, ...) or fields such as "
       "p_dtype=bf16; default: the ladder is tried"},
  };
  return names;
}

StatedAttributes read_attributes(const std::string& dump, const Attributes& attributes,
                                 Errors& errors) {
  return Reader(dump, attributes, errors).read();
}

}  // namespace plumbline
