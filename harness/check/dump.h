// A dump: the inputs and output of one attention call of any framework, and the question asked.
// docs/dump-format.md.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/check/not_judged.h"
#include "harness/compare/outputs.h"
#include "harness/problem/geometry.h"
#include "harness/problem/safetensors.h"
#include "harness/reference/reference.h"

namespace plumbline {

// What the tensors do not say by themselves: mask, window, scale, layout, lse_base, spec, … by
// name, as text.
using Attributes = std::map<std::string, std::string>;

struct Dump {
  std::string name;  // the file's path, or what the caller calls its arrays
  std::shared_ptr<const Geometry> geometry;
  // In the storage order of the geometry's shapes. Outputs are empty where the file has none
  // (recorded inputs).
  std::vector<std::byte> q, k, v, out;
#define PLUMBLINE_ROW(name, ...) std::vector<std::byte> name;
  PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
  std::string spec;         // as stated: a name of the ladder or a spec's text; "" if not stated
  std::string padded_rows;  // as stated: zeros, attended, anything, or "" (not looked at)
  int lse_base = 0;         // 0 = e, 2
  // What was done to the inputs before they were judged, a sentence each: "q and k were rounded to
  // bf16 before the kernel, as autocast does"
  std::vector<std::string> notes;
  // Of a call in several dtypes of which none was stated: the same in the other dtype that the
  // kernel may have computed in; nullptr where there is none.
  std::shared_ptr<const Dump> in_other_dtype;
  // which keys a row sees was stated by a tensor, not only by the problem's mask and window
  bool mask_tensor = false;
  Attributes attributes;  // all that was stated, for the report
  // Tensors of the file that take no part in the question, because no name of theirs is known here.
  std::vector<std::string> tensors_without_a_part;
  OpenQuestions open;  // what the dump asks and nothing judges yet
  std::vector<NotJudged>
      not_judged;  // of what was given; rows of padding by stated lengths are not
  const Problem& problem() const { return geometry->problem(); }
  InputView inputs() const { return {q.data(), k.data(), v.data()}; }
  OutputView outputs() const;
};
#define PLUMBLINE_ROW(name, ...) &Dump::name,
inline constexpr PerRowOutput<std::vector<std::byte> Dump::*> dump_rows{
    {PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)}};
#undef PLUMBLINE_ROW

// Makes a dump of named tensors: q, k, v, and out, row outputs such as lse, cu_seqlens (or
// cu_seqlens_q and cu_seqlens_kv), seqlens_q, seqlens_kv, page_table, mask, attn_bias,
// alibi_slopes, sinks and scales of fp8 where there are any; or partial_out and partial_lse of a
// merge, and out (docs/dump-format.md has their shapes and other names). `stated` wins over what
// the tensors imply. All errors come at once; each names the tensor or attribute, what was found,
// and what would do.
Result<Dump> make_dump(const std::string& name, const std::map<std::string, TensorData>& tensors,
                       const Attributes& stated);

// Reads a safetensors file; its metadata are attributes, and `stated` wins over them. Metadata of
// other names are left alone.
Result<Dump> read_dump(const std::filesystem::path& path, const Attributes& stated = {});

// The names make_dump knows, with one sentence each, for --help and for error messages.
const std::map<std::string, std::string>& attribute_names();

}  // namespace plumbline
