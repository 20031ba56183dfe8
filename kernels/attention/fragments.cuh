// Registers of a warp's matrix products, and the shared-memory tiles that they are loaded from.
//
// mma.sync m16n8kK (PTX ISA, "Matrix Fragments"): lane = 4 g + t. The accumulator of a lane holds
// rows g, g, g + 8, g + 8 and columns 2t, 2t + 1, 2t, 2t + 1. Mma<Element, Accumulator> defines the
// contents of A and B for each pair of types:
//
//   depth                           K of the instruction: keys of one step of P V, dimensions of
//                                   one step of Q K^T
//   a(r, q, row, column)            A = Q[row .. row + 16, column .. column + depth]
//   b(r, k, key, column)            B = K^T: two blocks of 8 keys, from key and key + 8, dimensions
//                                   column .. column + depth
//   b_of_values(r, v, key, column)  B = V[key .. key + depth]: two blocks of 8 columns, from column
//                                   and column + 8
//   a_of_weights(r, p, step)        A = P of `depth` keys from step * depth, rounded to Element;
//                                   p is laid out like S's accumulators
//   multiply(d, a, b)               d += a b
#pragma once

#include "kernels/attention/elements.cuh"

namespace plumbline::attention {

// [rows, Columns] elements in shared memory, placed without bank conflicts between the rows of one
// ldmatrix or the lanes of one fragment. Rows of 16-bit elements have their 16-byte chunks permuted
// (chunk ^ row % 8), so Columns is a multiple of 64; rows of fp32 are 16 bytes longer.
template <class Element, int Columns>
struct SharedTile {
  static constexpr int per_chunk = 16 / static_cast<int>(sizeof(Element));  // elements in 16 bytes
  static constexpr int chunks = Columns / per_chunk;
  static constexpr int row_elements = sizeof(Element) == 2 ? Columns : Columns + per_chunk;
  static constexpr int bytes(int rows) {
    return rows * row_elements * static_cast<int>(sizeof(Element));
  }

  Element* data;

  __device__ __forceinline__ Element* at(int row, int column) const {
    if constexpr (sizeof(Element) == 2) {
      return data + row * row_elements + (column / per_chunk ^ row % 8) * per_chunk +
             column % per_chunk;
    } else {
      return data + row * row_elements + column;
    }
  }
};

// 16 x 8 values, distributed over a warp, in fp32 or in fp16.
template <class Accumulator>
struct Fragment;
template <>
struct Fragment<float> {
  float x[4];
  __device__ __forceinline__ float operator[](int i) const { return x[i]; }
};
template <>
struct Fragment<Half> {
  std::uint32_t x[2];
  __device__ __forceinline__ float operator[](int i) const {
    return to_float(Half{static_cast<std::uint16_t>(x[i / 2] >> i % 2 * 16)});
  }
};

struct Lane {
  int index;  // 0 to 31
  int g, t;   // index / 4, index % 4
};
__device__ __forceinline__ Lane this_lane() {
  const int index = static_cast<int>(threadIdx.x) % 32;
  return {index, index / 4, index % 4};
}

template <class Element>
struct Mma16 {
  static constexpr int depth = 16;

  template <int Columns>
  __device__ static void a(std::uint32_t (&r)[4], const SharedTile<Element, Columns>& q, int row,
                           int column) {
    const int lane = this_lane().index;
    simt::ldmatrix_x4(r, q.at(row + lane % 16, column + lane / 16 * 8));
  }
  template <int Columns>
  __device__ static void b(std::uint32_t (&r)[2][2], const SharedTile<Element, Columns>& k, int key,
                           int column) {
    const int lane = this_lane().index;
    std::uint32_t x[4];
    simt::ldmatrix_x4(x, k.at(key + lane % 8 + lane / 16 * 8, column + lane / 8 % 2 * 8));
    split(r, x);
  }
  template <int Columns>
  __device__ static void b_of_values(std::uint32_t (&r)[2][2],
                                     const SharedTile<Element, Columns>& v, int key, int column) {
    const int lane = this_lane().index;
    std::uint32_t x[4];
    simt::ldmatrix_x4_trans(x, v.at(key + lane % 16, column + lane / 16 * 8));
    split(r, x);
  }
  template <int Blocks>
  __device__ static void a_of_weights(std::uint32_t (&r)[4], const float (&p)[Blocks][4],
                                      int step) {
    r[0] = pack<Element>(p[2 * step][0], p[2 * step][1]);
    r[1] = pack<Element>(p[2 * step][2], p[2 * step][3]);
    r[2] = pack<Element>(p[2 * step + 1][0], p[2 * step + 1][1]);
    r[3] = pack<Element>(p[2 * step + 1][2], p[2 * step + 1][3]);
  }

 private:
  __device__ static void split(std::uint32_t (&r)[2][2], const std::uint32_t (&x)[4]) {
    r[0][0] = x[0];
    r[0][1] = x[1];
    r[1][0] = x[2];
    r[1][1] = x[3];
  }
};

// For 16-bit elements; bf16 has only fp32 accumulators.
template <class Element, class Accumulator>
struct Mma : Mma16<Element> {
  __device__ static void multiply(Fragment<Accumulator>& d, const std::uint32_t (&a)[4],
                                  const std::uint32_t (&b)[2]) {
    if constexpr (std::is_same_v<Element, BFloat16>) {
      simt::mma_bf16(d.x, a, b);
    } else {
      simt::mma_f16(d.x, a, b);
    }
  }
};

// For fp32 elements; operands are rounded to tf32. In P V, k-indices t and t + 4 stand for keys 2t
// and 2t + 1, so the registers of S's accumulators are those of A, without shuffles.
template <>
struct Mma<Float, float> {
  static constexpr int depth = 8;

  template <int Columns>
  __device__ static void a(std::uint32_t (&r)[4], const SharedTile<Float, Columns>& q, int row,
                           int column) {
    const Lane lane = this_lane();
    r[0] = to_tf32(*q.at(row + lane.g, column + lane.t));
    r[1] = to_tf32(*q.at(row + lane.g + 8, column + lane.t));
    r[2] = to_tf32(*q.at(row + lane.g, column + lane.t + 4));
    r[3] = to_tf32(*q.at(row + lane.g + 8, column + lane.t + 4));
  }
  template <int Columns>
  __device__ static void b(std::uint32_t (&r)[2][2], const SharedTile<Float, Columns>& k, int key,
                           int column) {
    const Lane lane = this_lane();
    for (int block = 0; block < 2; ++block) {
      r[block][0] = to_tf32(*k.at(key + 8 * block + lane.g, column + lane.t));
      r[block][1] = to_tf32(*k.at(key + 8 * block + lane.g, column + lane.t + 4));
    }
  }
  template <int Columns>
  __device__ static void b_of_values(std::uint32_t (&r)[2][2], const SharedTile<Float, Columns>& v,
                                     int key, int column) {
    const Lane lane = this_lane();
    for (int block = 0; block < 2; ++block) {
      r[block][0] = to_tf32(*v.at(key + 2 * lane.t, column + 8 * block + lane.g));
      r[block][1] = to_tf32(*v.at(key + 2 * lane.t + 1, column + 8 * block + lane.g));
    }
  }
  template <int Blocks>
  __device__ static void a_of_weights(std::uint32_t (&r)[4], const float (&p)[Blocks][4],
                                      int step) {
    r[0] = to_tf32(p[step][0]);
    r[1] = to_tf32(p[step][2]);
    r[2] = to_tf32(p[step][1]);
    r[3] = to_tf32(p[step][3]);
  }
  __device__ static void multiply(Fragment<float>& d, const std::uint32_t (&a)[4],
                                  const std::uint32_t (&b)[2]) {
    simt::mma_tf32(d.x, a, b);
  }
};

// Copies the rows of a tile by cp.async; all `Threads` threads take part. `source(row)` returns the
// address of a row's element 0, or nullptr for a row of zeros. `memory` is any valid address, which
// cp.async gets for a row of zeros.
template <int Rows, int Threads, class Element, int Columns, class Source>
__device__ __forceinline__ void copy_rows(const SharedTile<Element, Columns>& tile, int thread,
                                          const void* memory, const Source& source) {
  using Tile = SharedTile<Element, Columns>;
  for (int i = thread; i < Rows * Tile::chunks; i += Threads) {
    const int row = i / Tile::chunks, column = i % Tile::chunks * Tile::per_chunk;
    const Element* from = source(row);
    simt::cp_async_16(tile.at(row, column), from == nullptr ? memory : from + column,
                      from != nullptr);
  }
}

// Like copy_rows(), but widens fp8 to Element. On return this thread's part is stored: there is no
// cp.async to wait for.
template <int Rows, int Threads, class Element, int Columns, class Source>
__device__ __forceinline__ void widen_rows(const SharedTile<Element, Columns>& tile, int thread,
                                           std::uint32_t dtype, const Source& source) {
  struct alignas(16) Stored {
    Fp8 x[16];
  };
  struct alignas(16) Widened {
    std::uint32_t x[4];
  };
  for (int i = thread; i < Rows * (Columns / 16); i += Threads) {
    const int row = i / (Columns / 16), column = i % (Columns / 16) * 16;
    const Fp8* from = source(row);
    Stored stored{};
    if (from != nullptr) stored = *reinterpret_cast<const Stored*>(from + column);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Widened wide;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const Fp8* pair = stored.x + 8 * half + 2 * j;
        wide.x[j] = pack<Element>(to_float(pair[0], dtype), to_float(pair[1], dtype));
      }
      *reinterpret_cast<Widened*>(tile.at(row, column + 8 * half)) = wide;
    }
  }
}

}  // namespace plumbline::attention
