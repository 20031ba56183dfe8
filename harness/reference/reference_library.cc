// Loads a reference library, packs a request for its C ABI and unpacks the results.
#include "harness/reference/reference_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "harness/base/parallel.h"
#include "harness/reference/block_worker.h"
#include "harness/reference/model.h"

namespace plumbline {
namespace {

plumbline_reference_accumulator to_abi(const AccumulationModel& a) {
  return {a.u, a.f, a.f_out, a.step, a.toward_zero ? 1 : 0, 0};
}

plumbline_reference_model to_abi(const Model& m) {
  return {
      m.u_p,     m.eta_p,      m.p_normal,    m.u_s,         m.eta_s,
      m.u_split, m.eta_split,  m.p_cell_bits, m.s_cell_bits, m.denominator_from_rounded_p ? 1 : 0,
      0,         to_abi(m.qk), to_abi(m.pv)};
}

// The rows that see a key, and the keys they see, in the form of the ABI.
class Request {
 public:
  Request(const Geometry& geometry, const InputView& inputs, const Model& model,
          const std::vector<RowId>& rows)
      : geometry_(geometry), inputs_(inputs), model_(model) {
    add_rows(rows);
    add_offsets();
    load_queries(rows);
    round_keys();
    fill_in();
  }

  [[nodiscard]] const plumbline_reference_request* abi() const { return &abi_; }
  // Copies the library's row `i` to row index_[i] of the result, for every i.
  void store(Reference& result) const;
  // Returns the rows of the result that the library leaves to the CPU.
  [[nodiscard]] std::vector<std::size_t> repeating_rows() const;

 private:
  void add_rows(const std::vector<RowId>& rows);
  void add_offsets();
  void load_queries(const std::vector<RowId>& rows);
  void round_keys();
  void fill_in();

  struct Group {
    std::int64_t sample = 0, head_kv = 0;
    KeyRange keys;  // all keys that any of its rows sees
  };

  const Geometry& geometry_;
  const InputView& inputs_;
  const Model& model_;
  std::vector<std::size_t> index_;  // each row's index in the selection
  std::vector<Group> heads_;
  std::vector<plumbline_reference_row> rows_;
  std::vector<plumbline_reference_group> groups_;
  std::vector<std::int64_t> k_offsets_, v_offsets_;
  std::vector<double> q_, o_, variance_, bound_, lse_, lse_variance_;
  std::vector<std::int32_t> repeats_;
  std::vector<float> k_rounded_, v_rounded_;  // set if the model rounds its fp32 inputs
  double scale_ = 1;
  plumbline_reference_request abi_{};
};

void Request::add_rows(const std::vector<RowId>& rows) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> known;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KeyRange seen = geometry_.visible_keys(rows[i].sample, rows[i].row);
    if (seen.size() == 0) continue;
    const std::int64_t head_kv = rows[i].head / geometry_.problem().group();
    const auto [at, added] = known.try_emplace({rows[i].sample, head_kv}, heads_.size());
    if (added) heads_.push_back({rows[i].sample, head_kv, seen});
    KeyRange& all = heads_[at->second].keys;
    all = joined(all, seen);
    index_.push_back(i);
    rows_.push_back({static_cast<std::int64_t>(at->second), seen.begin, seen.end});
  }
  for (plumbline_reference_row& row : rows_) {
    const std::int64_t first = heads_[static_cast<std::size_t>(row.group)].keys.begin;
    row.begin -= first;
    row.end -= first;
  }
}

void Request::add_offsets() {
  for (const Group& head : heads_) {
    groups_.push_back({static_cast<std::int64_t>(k_offsets_.size()), head.keys.size()});
    for (std::int64_t key = head.keys.begin; key < head.keys.end; ++key) {
      k_offsets_.push_back(geometry_.k_offset(head.sample, key, head.head_kv));
      v_offsets_.push_back(geometry_.v_offset(head.sample, key, head.head_kv));
    }
  }
}

void Request::load_queries(const std::vector<RowId>& rows) {
  const auto dims = static_cast<std::size_t>(geometry_.problem().head_dim_qk);
  q_.resize(index_.size() * dims);
  scale_ = model_.q_prescaled == DType::none ? geometry_.problem().softmax_scale() : model_.q_base;
  parallel_for(index_.size(), [&](std::size_t i) {
    load_query(geometry_, inputs_, model_, rows[index_[i]],
               std::span<double>(q_).subspan(i * dims, dims));
  });
}

// Copies K and V only if the model rounds them (fp32 inputs to tf32).
void Request::round_keys() {
  // 16-bit inputs already are tf32 numbers.
  if (model_.input_rounding.dtype != DType::tf32 || geometry_.k.dtype != DType::f32) return;
  const auto rounded = [&](const void* tensor, const TensorShape& shape) {
    std::vector<float> values(shape.bytes() / sizeof(float));
    decode(DType::f32, tensor, std::span<float>(values));
    for (float& value : values) value = static_cast<float>(model_.input_rounding.rounded(value));
    return values;
  };
  k_rounded_ = rounded(inputs_.k, geometry_.k);
  v_rounded_ = rounded(inputs_.v, geometry_.v);
}

void Request::fill_in() {
  const Problem& problem = geometry_.problem();
  const std::size_t elements = index_.size() * static_cast<std::size_t>(problem.head_dim_vo);
  for (auto* matrix : {&o_, &variance_, &bound_}) matrix->resize(elements);
  for (auto* vector : {&lse_, &lse_variance_}) vector->resize(index_.size());
  abi_.struct_size = sizeof abi_;
  abi_.dtype = static_cast<std::uint32_t>(geometry_.k.dtype);
  abi_.dim_qk = problem.head_dim_qk;
  abi_.dim_vo = problem.head_dim_vo;
  abi_.scale = scale_;
  abi_.q = q_.data();
  abi_.k = k_rounded_.empty() ? inputs_.k : k_rounded_.data();
  abi_.v = v_rounded_.empty() ? inputs_.v : v_rounded_.data();
  abi_.k_bytes = geometry_.k.bytes();
  abi_.v_bytes = geometry_.v.bytes();
  abi_.k_offsets = k_offsets_.data();
  abi_.v_offsets = v_offsets_.data();
  abi_.offset_count = static_cast<std::int64_t>(k_offsets_.size());
  abi_.groups = groups_.data();
  abi_.group_count = static_cast<std::int64_t>(groups_.size());
  abi_.rows = rows_.data();
  abi_.row_count = static_cast<std::int64_t>(rows_.size());
  abi_.model = to_abi(model_);
  abi_.o = o_.data();
  abi_.variance = variance_.data();
  abi_.bound = bound_.data();
  abi_.lse = lse_.data();
  abi_.lse_variance = lse_variance_.data();
  repeats_.resize(index_.size());
  abi_.repeats = repeats_.data();
}

std::vector<std::size_t> Request::repeating_rows() const {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < index_.size(); ++i) {
    if (repeats_[i] != 0) rows.push_back(index_[i]);
  }
  return rows;
}

void Request::store(Reference& result) const {
  const auto columns = static_cast<std::size_t>(result.columns);
  for (std::size_t i = 0; i < index_.size(); ++i) {
    const std::size_t row = index_[i];
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t at = i * columns + j;
      store_element(result, row, static_cast<std::int64_t>(j), o_[at], variance_[at], std::nullopt,
                    bound_[at], model_);
    }
    result.lse[row] = lse_[i];
    result.lse_sigma[row] =
        static_cast<float>(std::sqrt(with_stored_lse(model_, lse_[i], lse_variance_[i])));
    result.visible[row] = static_cast<std::int32_t>(rows_[i].end - rows_[i].begin);
  }
}

// Copies row i of `part` to row at[i] of the result.
void store_rows(const Reference& part, const std::vector<std::size_t>& at, Reference& result) {
  const auto columns = static_cast<std::size_t>(result.columns);
  const auto move = [&](const auto& from, auto& to, std::size_t i, std::size_t width) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                to.begin() + static_cast<std::ptrdiff_t>(at[i] * width));
  };
  for (std::size_t i = 0; i < at.size(); ++i) {
    move(part.o, result.o, i, columns);
    move(part.spre, result.spre, i, columns);
    move(part.sigma, result.sigma, i, columns);
    move(part.bound, result.bound, i, columns);
    move(part.lse, result.lse, i, 1);
    move(part.lse_sigma, result.lse_sigma, i, 1);
  }
}

}  // namespace

Result<std::shared_ptr<const ReferenceLibrary>> ReferenceLibrary::open(
    const std::filesystem::path& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(fmt::format("cannot load the reference library: {}", dlerror()));
  auto* const entry = reinterpret_cast<const plumbline_reference_library* (*)()>(
      dlsym(handle, PLUMBLINE_REFERENCE_SYMBOL));
  if (entry == nullptr)
    return fail(fmt::format("{} does not export {}", path.string(), PLUMBLINE_REFERENCE_SYMBOL));
  const plumbline_reference_library* const library = entry();
  if (library->abi != PLUMBLINE_REFERENCE_ABI || library->struct_size < sizeof *library) {
    return fail(fmt::format("{} has version {} of the reference ABI, this plumbline needs {}",
                            path.string(), library->abi, PLUMBLINE_REFERENCE_ABI),
                "rebuild it together with plumbline");
  }
  if (library->device_count() < 1) return fail(fmt::format("{} finds no device", path.string()));
  return std::shared_ptr<const ReferenceLibrary>(new ReferenceLibrary(library));
}

// A request can express rows that see one range of keys, logits that are scaled products, and K, V
// and outputs without fp8 scales. The library has formulas only for the roundings permitted here.
bool ReferenceLibrary::takes(const Problem& problem, const RoundingSpec& spec) {
  return !problem.is_merge() && problem.softcap == 0 && problem.alibi == Alibi::none &&
         problem.sinks == Sinks::none && !problem.has_fp8_kv() && !is_fp8(problem.out()) &&
         !problem.has_hidden_keys() && !spec.p_normalized && spec.p_max == MaximumOfP::running &&
         !spec.p_toward_zero && !spec.p_stochastic && !spec.out_stochastic &&
         !spec.s_rounded_twice && !spec.ring_update && spec.product_rel_error == 0 &&
         spec.skipped_below == 0 && spec.o_between_tiles == DType::none &&
         spec.q_prescaled == DType::none && spec.exp2_rel_error == 0 &&
         spec.reciprocal_rel_error == 0 && spec.pv_accumulator.dtype != DType::f16;
}

Result<Reference> ReferenceLibrary::compute(const Geometry& geometry, const InputView& inputs,
                                            const RoundingSpec& spec, const RowSelection& rows,
                                            std::vector<std::size_t>* of_cpu) const {
  std::vector<std::size_t> indexes;
  auto result = try_compute(geometry, inputs, spec, rows, indexes);
  if (of_cpu != nullptr) *of_cpu = std::move(indexes);
  if (!result) {
    const std::lock_guard lock(mutex_);
    ++refusals_[result.error().front().message];
  }
  return result;
}

std::map<std::string, int> ReferenceLibrary::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

Result<Reference> ReferenceLibrary::try_compute(const Geometry& geometry, const InputView& inputs,
                                                const RoundingSpec& spec, const RowSelection& rows,
                                                std::vector<std::size_t>& of_cpu) const {
  if (!takes(geometry.problem(), spec) || geometry.bias != nullptr)
    return fail(fmt::format("reference on {}: not for this problem", device_name()));
  const ReferenceContext question(geometry, inputs, spec);
  const Request request(geometry, inputs, question.model, rows.rows);
  if (const char* text = library_->compute(request.abi()))
    return fail(fmt::format("reference on {}: {}", device_name(), text));
  Reference result = without_keys(question, rows, false);
  request.store(result);
  of_cpu = request.repeating_rows();
  if (of_cpu.empty()) return result;
  RowSelection some = rows;
  some.rows.clear();
  for (const std::size_t row : of_cpu) some.rows.push_back(rows.rows[row]);
  store_rows(compute_reference(geometry, inputs, spec, some), of_cpu, result);
  return result;
}

}  // namespace plumbline
