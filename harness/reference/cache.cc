// Keeps references in files named by a digest of problem, input bits, spec and rows.
#include "harness/reference/cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <span>

#include "harness/base/pending_file.h"
#include "harness/problem/inputs.h"
#include "harness/reference/model.h"
#include "harness/reference/reference_library.h"
#include "harness/reference/version.h"

namespace plumbline {
namespace {

constexpr std::uint32_t format_version = 1;

struct Header {
  char magic[8];
  std::uint32_t format, reference;
  XXH128_hash_t key, checksum;  // checksum of the payload
  std::uint64_t payload_bytes;
};
static_assert(std::has_unique_object_representations_v<Header>,
              "written to disk as it lies in memory");
constexpr char magic[8] = {'p', 'l', 'u', 'm', 'b', 'r', 'e', 'f'};

class Hasher {
 public:
  Hasher() : state_(XXH3_createState()) { XXH3_128bits_reset(state_); }
  ~Hasher() { XXH3_freeState(state_); }
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  // Also hashes the length, so that no two sequences of parts have the same bytes.
  void add(const void* data, std::size_t bytes) {
    XXH3_128bits_update(state_, &bytes, sizeof bytes);
    XXH3_128bits_update(state_, data, bytes);
  }
  void add(std::string_view text) { add(text.data(), text.size()); }
  XXH128_hash_t digest() const { return XXH3_128bits_digest(state_); }

 private:
  XXH3_state_t* state_;
};

// The key covers the bits of the inputs, because a dump has a problem's shape but other values.
XXH128_hash_t cache_key(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                        const RowSelection& rows, const ReferenceOptions& options) {
  Hasher hasher;
  hasher.add(problem_digest(geometry.problem()));
  hasher.add(inputs.q, geometry.q.bytes());
  hasher.add(inputs.k, geometry.k.bytes());
  hasher.add(inputs.v, geometry.v.bytes());
  const SideInputs& side = geometry.side;
  for (const auto* of : {&side.q_scale, &side.k_scale, &side.v_scale, &side.out_scale,
                         &side.alibi_slopes, &side.sinks})
    hasher.add(of->data(), of->size() * sizeof(float));
  hasher.add(spec_text(spec));
  hasher.add(rows.rows.data(), rows.rows.size() * sizeof(RowId));
  hasher.add(fmt::format("reference={} suite_scores={}", reference_version, options.suite_scores));
  // a library's results differ in the last bits
  if (options.uses_library()) hasher.add(options.library->device_name());
  return hasher.digest();
}

// Calls visit for every array of the result, in file order.
template <class R, class Visit>
void for_arrays(R& reference, Visit visit) {
  visit(reference.o), visit(reference.spre), visit(reference.sigma), visit(reference.bound);
  for (const RowOutput output : all<RowOutput>()) {
    const auto [values, sigmas] = reference_rows[output];
    visit(reference.*values), visit(reference.*sigmas);
  }
  visit(reference.visible), visit(reference.gradient), visit(reference.shrink_variance);
  visit(reference.temperature_variance);
}

// Returns a reference with arrays of the sizes that the request and the computing device imply. A
// GPU library computes no row output except the LSE; the CPU computes all. If the library refuses
// or fails, the CPU computes the whole reference.
Reference empty_reference(const Geometry& geometry, const RoundingSpec& spec,
                          const RowSelection& rows, const ReferenceOptions& options,
                          bool by_library) {
  Reference reference;
  reference.output_units = Model(spec, 1).output_units();
  reference.selection = rows;
  reference.columns = geometry.problem().head_dim_vo;
  const std::size_t count = rows.rows.size(),
                    elements = count * static_cast<std::size_t>(reference.columns);
  reference.o.resize(elements);
  for (auto* matrix : {&reference.spre, &reference.sigma, &reference.bound})
    matrix->resize(elements);
  for (const RowOutput output : all<RowOutput>()) {
    if (by_library && output != RowOutput::lse) continue;
    const auto [values, sigmas] = reference_rows[output];
    (reference.*values).resize(count);
    (reference.*sigmas).resize(count);
  }
  reference.visible.resize(count);
  if (!options.suite_scores) return reference;
  reference.gradient.resize(elements);
  for (auto* variance : {&reference.shrink_variance, &reference.temperature_variance})
    variance->resize(count);
  return reference;
}

std::uint64_t payload_bytes(const Reference& reference) {
  std::uint64_t bytes = 0;
  for_arrays(reference, [&](const auto& array) { bytes += std::span(array).size_bytes(); });
  return bytes;
}

Header header_of(const XXH128_hash_t& key, const Reference& reference) {
  Hasher checksum;
  for_arrays(reference,
             [&](const auto& array) { checksum.add(array.data(), std::span(array).size_bytes()); });
  Header header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.format = format_version;
  header.reference = reference_version;
  header.key = key;
  header.checksum = checksum.digest();
  header.payload_bytes = payload_bytes(reference);
  return header;
}

// Returns nullopt unless the file is complete and belongs to exactly this request.
std::optional<Reference> read(const std::filesystem::path& path, const XXH128_hash_t& key,
                              Reference reference) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size != sizeof(Header) + payload_bytes(reference)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  Header header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  for_arrays(reference, [&](auto& array) {
    file.read(reinterpret_cast<char*>(array.data()),
              static_cast<std::streamsize>(std::span(array).size_bytes()));
  });
  if (!file) return std::nullopt;
  const Header expected = header_of(key, reference);
  if (std::memcmp(&header, &expected, sizeof header) != 0) return std::nullopt;
  return reference;
}

// Readers see a complete file or none. If the directory is not writable, the reference is computed
// again next time.
void write(const std::filesystem::path& path, const XXH128_hash_t& key,
           const Reference& reference) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  PendingFile pending(path);
  const Header header = header_of(key, reference);
  std::ofstream file(pending.place(), std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  for_arrays(reference, [&](const auto& array) {
    file.write(reinterpret_cast<const char*>(array.data()),
               static_cast<std::streamsize>(std::span(array).size_bytes()));
  });
  file.close();
  if (file) pending.commit();
}

}  // namespace

Reference cached_reference(const std::filesystem::path& directory, const Geometry& geometry,
                           const InputView& inputs, const RoundingSpec& spec,
                           const RowSelection& rows, const ReferenceOptions& options) {
  const XXH128_hash_t key = cache_key(geometry, inputs, spec, rows, options);
  const std::filesystem::path path =
      directory / fmt::format("{:016x}{:016x}.ref", key.high64, key.low64);
  for (const bool by_library : {true, false}) {
    if (by_library && !options.uses_library()) continue;
    if (auto hit = read(path, key, empty_reference(geometry, spec, rows, options, by_library)))
      return std::move(*hit);
  }
  Reference computed = compute_reference(geometry, inputs, spec, rows, options);
  write(path, key, computed);
  return computed;
}

}  // namespace plumbline
