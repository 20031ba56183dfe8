// The table of bugs and legal variants of the tensor-core kernels, each with one change.
#include "kernels/mutants/tensor_core/changes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace plumbline::mutants {
namespace {

using emulator::Call;
using Copy = emulator::Fault::Copy;
using Word = std::uint32_t;

// The kernel with one changed call.
template <auto call>
constexpr auto changed = [](const char* name, auto change) {
  KernelChange kernel{.name = name};
  kernel.*call = change;
  return kernel;
};
constexpr auto leaves_out = changed<&KernelChange::leaves_out>;
constexpr auto wait = changed<&KernelChange::wait>;
constexpr auto copy = changed<&KernelChange::copy>;
constexpr auto load = changed<&KernelChange::load>;
constexpr auto loaded = changed<&KernelChange::loaded>;
constexpr auto shuffle = changed<&KernelChange::shuffle>;
constexpr auto multiply = changed<&KernelChange::multiply>;
constexpr auto product = changed<&KernelChange::product>;

constexpr std::array legal{
    KernelChange{.name = "legal_baseline"},
    KernelChange{.name = "legal_tile_64x32", .options = "tile=64x32"},
    KernelChange{.name = "legal_reversed", .options = "schedule=reversed"},
    KernelChange{.name = "legal_random_order", .options = "schedule=random,seed=7"},
    KernelChange{.name = "legal_three_splits", .options = "splits=3"},
    KernelChange{.name = "legal_accumulator_fp16", .kernel = "prefill_mma_acc16"},
    KernelChange{.name = "legal_tensor_core_of_sm_80", .computes = multiply_as_sm_80},
    KernelChange{.name = "legal_half_instructions", .computes = multiply_in_halves},
    wait("legal_waits_for_all", [](const ThreadPosition&, int) { return 0; }),
};

// ---- registers and the rows of ldmatrix ----

// A's registers hold rows g and g + 8 of the lower half of the dimension k, then of the upper half.
void swap_rows_and_k(Word* a) { std::swap(a[1], a[2]); }

constexpr std::array fragments{
    load("fragment_values_not_transposed",
         [](const ThreadPosition&, Call, std::size_t&) { return Call::ldmatrix_x4; }),
    load("fragment_keys_transposed",
         [](const ThreadPosition& at, Call call, std::size_t&) {
           return at.in_scores() && !at.loads_query() ? Call::ldmatrix_x4_trans : call;
         }),
    multiply("fragment_query_registers_swapped",
             [](ThreadPosition& at, Call&, Word* a, Word*, Word*) {
               if (at.in_scores()) swap_rows_and_k(a);
               return true;
             }),
    multiply("fragment_weights_registers_swapped",
             [](ThreadPosition& at, Call&, Word* a, Word*, Word*) {
               if (at.in_values()) swap_rows_and_k(a);
               return true;
             }),
    multiply("fragment_weights_halves_swapped",
             [](ThreadPosition& at, Call&, Word* a, Word*, Word*) {
               const auto swap_halves = [](Word word) { return std::rotl(word, 16); };
               if (at.in_values() && !at.tiles.fp32) std::transform(a, a + 4, a, swap_halves);
               return true;
             }),
    multiply("fragment_keys_registers_swapped",
             [](ThreadPosition& at, Call&, Word*, Word* b, Word*) {
               if (at.in_scores()) std::swap(b[0], b[1]);
               return true;
             }),
    multiply("fragment_values_registers_swapped",
             [](ThreadPosition& at, Call&, Word*, Word* b, Word*) {
               if (at.in_values()) std::swap(b[0], b[1]);
               return true;
             }),
    loaded("fragment_key_blocks_mixed",
           [](const ThreadPosition& at, Word* r) {
             if (at.in_scores() && !at.loads_query()) std::swap(r[1], r[2]);
           }),
    // chunk ^ row % 4, although the store uses chunk ^ row % 8
    load("fragment_swizzle_of_four_rows",
         [](const ThreadPosition& at, Call call, std::size_t& row) {
           if ((row / at.tiles.row_bytes & 4U) != 0) row ^= 4U * 16U;
           return call;
         }),
    // lane % 8 instead of lane % 16
    load("fragment_rows_of_lower_group",
         [](const ThreadPosition& at, Call call, std::size_t& row) {
           if (at.in_values() && ThreadPosition::lane() / 8 % 2 == 1) row -= 8 * at.tiles.row_bytes;
           return call;
         }),
    product("fragment_score_rows_exchanged",
            [](const ThreadPosition& at, Word* d) {
              if (at.in_scores() && at.last_step()) std::swap(d[0], d[2]), std::swap(d[1], d[3]);
            }),
    product("fragment_score_columns_exchanged",
            [](const ThreadPosition& at, Word* d) {
              if (at.in_scores() && at.last_step()) std::swap(d[0], d[1]), std::swap(d[2], d[3]);
            }),
    product("fragment_upper_rows_as_lower",
            [](const ThreadPosition& at, Word* d) {
              if (at.in_scores() && at.last_step()) d[2] = d[0], d[3] = d[1];
            }),
    KernelChange{.name = "fragment_tf32_key_order", .computes = multiply_other_keys},
};

// ---- steps of K ----

constexpr std::array steps{
    multiply("step_last_of_head_missing",
             [](ThreadPosition& at, Call&, Word*, Word*, Word*) {
               return !(at.in_scores() && at.last_step());
             }),
    multiply("step_last_of_keys_missing",
             [](ThreadPosition& at, Call&, Word*, Word*, Word*) {
               return !(at.in_values() && at.tiles.key_steps > 1 && at.last_step());
             }),
    multiply("step_sum_not_carried",
             [](ThreadPosition& at, Call&, Word*, Word*, Word* c) {
               if (at.in_scores() && at.last_step()) std::fill_n(c, 4, 0U);
               return true;
             }),
    multiply("step_query_of_first",
             [](ThreadPosition& at, Call&, Word* a, Word*, Word*) {
               if (at.in_scores() && at.step() == 0) std::copy_n(a, 4, at.kept());
               if (at.in_scores() && at.step() == 1) std::copy_n(at.kept(), 4, a);
               return true;
             }),
};

// ---- reductions over the lanes of a row ----

constexpr std::array reductions{
    shuffle("reduction_maximum_of_two_lanes",
            [](const ThreadPosition& at, Call call, int& mask) {
              if (at.reduces_maximum() && mask == 2) mask = 0;
              return call;
            }),
    shuffle("reduction_total_of_two_lanes",
            [](const ThreadPosition& at, Call call, int& mask) {
              if (!at.reduces_maximum() && mask == 2) mask = 1;
              return call;
            }),
    shuffle("reduction_total_of_two_rows",
            [](const ThreadPosition& at, Call call, int& mask) {
              if (!at.reduces_maximum() && mask == 2) mask = 4;
              return call;
            }),
    shuffle("reduction_total_down",
            [](const ThreadPosition& at, Call call, int&) {
              return at.reduces_maximum() ? call : Call::shfl_down;
            }),
};

// ---- precision ----

constexpr std::array precision{
    KernelChange{.name = "precision_accumulator_fp16", .computes = multiply_in_fp16},
    KernelChange{.name = "precision_accumulator_13_bits", .computes = multiply_with_bits<13>},
    multiply("precision_other_16_bit_format",
             [](ThreadPosition&, Call& call, Word*, Word*, Word*) {
               if (call != Call::mma_tf32)
                 call = call == Call::mma_f16 ? Call::mma_bf16 : Call::mma_f16;
               return true;
             }),
    multiply("precision_weights_in_bf16",
             [](ThreadPosition& at, Call& call, Word* a, Word*, Word*) {
               if (at.in_values())
                 std::transform(a, a + 4, a,
                                [call](Word word) { return weights_as_bf16(call, word); });
               return true;
             }),
    KernelChange{.name = "precision_tf32_truncated", .landed = truncate_to_tf32},
    KernelChange{.name = "precision_tf32_through_bf16", .landed = round_to_bf16},
};

// ---- copies, waits, barriers ----

constexpr std::array copies{
    copy("memory_tail_not_filled",
         [](const ThreadPosition&, bool valid) {
           return valid ? Copy::unmodified : Copy::never_issued;
         }),
    copy("memory_tail_reads_first_row", [](const ThreadPosition&, bool) { return Copy::valid; }),
    copy("memory_source_of_8_bytes", [](const ThreadPosition&, bool) { return Copy::first_half; }),
    // Copies no V from the third tile on. Copy group 0 has Q and the first K, group 1 the first V,
    // groups 2 and 3 the second K and V. In decode, a group with Q alone comes first.
    copy("stale_values_after_two_tiles",
         [](const ThreadPosition& at, bool) {
           const int group = at.groups() - (at.tiles.decode ? 1 : 0);
           return group >= 2 * at.tiles.stages && group % 2 == 1 ? Copy::never_issued
                                                                 : Copy::unmodified;
         }),
    load("stale_stage_of_values",
         [](const ThreadPosition& at, Call call, std::size_t& row) {
           const auto rows = [&](int count) {
             return static_cast<std::size_t>(count) * at.tiles.row_bytes;
           };
           if (at.in_values() && row >= rows(at.tiles.q_rows + at.tiles.stage_rows))
             row -= rows(at.tiles.stage_rows);
           return call;
         }),
    wait("race_keys_not_awaited",
         [](const ThreadPosition&, int groups) { return groups == 1 ? -1 : groups; }),
    wait("race_values_wait_too_short",
         [](const ThreadPosition&, int groups) { return groups == 2 ? 3 : groups; }),
    leaves_out("race_buffer_reused_too_early",
               [](const ThreadPosition& at, Call call) {
                 return !at.tiles.decode && call == Call::syncthreads && at.barriers() % 2 == 0;
               }),
    leaves_out("race_values_read_too_early",
               [](const ThreadPosition& at, Call call) {
                 return !at.tiles.decode && call == Call::syncthreads && at.barriers() % 2 == 1;
               }),
    leaves_out("race_parts_over_tiles",
               [](const ThreadPosition& at, Call call) {
                 return at.tiles.decode && call == Call::syncthreads && at.barriers() == 1;
               }),
    leaves_out("race_parts_read_too_early",
               [](const ThreadPosition& at, Call call) {
                 return at.tiles.decode && call == Call::syncthreads && at.barriers() == 2;
               }),
    leaves_out("race_no_syncwarp",
               [](const ThreadPosition&, Call call) { return call == Call::syncwarp; }),
};

template <std::size_t... Sizes>
constexpr auto joined(const std::array<KernelChange, Sizes>&... parts) {
  std::array<KernelChange, (Sizes + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return all;
}
constexpr auto all_changes = joined(legal, fragments, steps, reductions, precision, copies);

}  // namespace

std::span<const KernelChange> kernel_changes() { return all_changes; }

}  // namespace plumbline::mutants
