// A dump: the inputs and output of one attention call of any framework, and the problem that it
// states. docs/dump-format.md.
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

// Properties that the tensors do not show: mask, window, scale, layout, lse_base, spec, … by name,
// as text.
using Attributes = std::map<std::string, std::string>;

struct Dump {
  std::string name;  // the file's path, or the caller's name for its arrays
  std::shared_ptr<const Geometry> geometry;
  // In the storage order of the geometry's shapes. Outputs are empty if the file has none (recorded
  // inputs).
  std::vector<std::byte> q, k, v, out;
#define PLUMBLINE_ROW(name, ...) std::vector<std::byte> name;
  PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)
#undef PLUMBLINE_ROW
  std::string spec;         // as stated: a name of the ladder or a spec's text; "" if not stated
  std::string padded_rows;  // as stated: zeros, attended, anything, or "" (not checked)
  int lse_base = 0;         // 0 = e, 2
  // Changes made to the inputs before they were judged, a sentence each: "q and k were rounded to
  // bf16 before the kernel, as autocast does".
  std::vector<std::string> notes;
  // This call in the other dtype that the kernel may have computed in. nullptr unless q, k and v
  // have several dtypes or were rounded, and no dtype is stated.
  std::shared_ptr<const Dump> in_other_dtype;
  // A tensor states which keys a row sees, not only the problem's mask and window.
  bool mask_tensor = false;
  Attributes attributes;  // all that are stated, for the report
  // Tensors of the file that are not used, because their names are unknown.
  std::vector<std::string> unused_tensors;
  UnjudgedParts open;  // gradients and dropout, which are not judged yet
  // Rows and tensors that are given but not judged. Padding by stated lengths is not listed.
  std::vector<NotJudged> not_judged;
  const Problem& problem() const { return geometry->problem(); }
  InputView inputs() const { return {q.data(), k.data(), v.data()}; }
  OutputView outputs() const;
};
#define PLUMBLINE_ROW(name, ...) &Dump::name,
inline constexpr PerRowOutput<std::vector<std::byte> Dump::*> dump_rows{
    {PLUMBLINE_ROW_OUTPUTS(PLUMBLINE_ROW)}};
#undef PLUMBLINE_ROW

// Makes a dump of named tensors: q, k, v, and if present out, row outputs such as lse, cu_seqlens
// (or cu_seqlens_q and cu_seqlens_kv), seqlens_q, seqlens_kv, page_table, mask, attn_bias,
// alibi_slopes, sinks and scales of fp8; or partial_out, partial_lse and out of a merge.
// docs/dump-format.md has their shapes and other names. `stated` overrides what the tensors imply.
// Returns the errors of the first step that fails. Each names the tensor or attribute, what was
// found and what would fit.
Result<Dump> make_dump(const std::string& name, const std::map<std::string, TensorData>& tensors,
                       const Attributes& stated);

// Reads a safetensors file. Its metadata are attributes, but `stated` overrides them. A name that
// nearly matches an attribute is an error; other unknown names are ignored.
Result<Dump> read_dump(const std::filesystem::path& path, const Attributes& stated = {});

// Returns the names that make_dump knows, with one sentence each, for --help and error messages.
const std::map<std::string, std::string>& attribute_names();

}  // namespace plumbline
