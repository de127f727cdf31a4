// What imaging does with wavefields, on the device; formulas and bits of native/kernels/imaging.hpp. The imaged field w
// is p, or 0.5 (p + q) for VTI and TTI.
//
//   snapshot       out = w                                     8 bytes per point (two fields 12)
//   correlate      image = fma(scale u, w, image)              16 (20)
//   energy         image = fma(scale w, w, image)              12 (16)
//   square         image = fma(scale u, u, image)              12
//   product        image = fma(scale u, w, image)              16; u and w both snapshots
//   finite         x - x is 0 for finite numbers alone         4 (8)
//
// Arrays: fields are padded (problem.hpp), everything else has the shape of the box, rows without padding.
//
// A warp has 32 vectors of a row, a block eight rows, a thread `rows_each` rows of it, whose loads are all asked for
// before the first is used: at least 32 bytes per thread in flight from each array. A vector is four floats where the
// box and the arrays let it lie on 16 bytes, else one. Blocks next to each other are next to each other in memory.
#include "kernels.hpp"
#include "numbers.cuh"

#include <initializer_list>

namespace subsalt::cuda {

namespace {

constexpr unsigned across = 32, down = 8;
constexpr unsigned flat_threads = 256;

enum class Imaging { snapshot, correlate, energy, finite };

/// What a thread does at once: rows of a box, or vectors of a flat array.
template <class V>
constexpr int rows_each = sizeof(V) == sizeof(float) ? 8 : 2;

/// Rows of a box, in vectors.
struct BoxRows {
    Index at;          // offset of the first point of the box in padded arrays
    Index plane, row;  // floats between planes and rows there
    Index nz;          // floats in a row of the box
    unsigned rows, ny; // rows of the box, and in a plane of it
    unsigned vectors;  // in a row; the last one may reach beyond it
    unsigned columns;  // blocks along z
};

/// Whether one of the first n numbers is not finite.
SUBSALT_DEVICE bool infinite(float a, Index n) {
    return n > 0 && !(a - a == 0.0f);
}
SUBSALT_DEVICE bool infinite(float4 a, Index n) {
    return infinite(a.x, n) || infinite(a.y, n - 1) || infinite(a.z, n - 2) || infinite(a.w, n - 3);
}

template <class V>
SUBSALT_DEVICE V load(const float* from) {
    return *reinterpret_cast<const V*>(from);
}
/// What is read once.
template <class V>
SUBSALT_DEVICE V load_once(const float* from) {
    return __ldcs(reinterpret_cast<const V*>(from));
}
/// What nobody reads soon.
template <class V>
SUBSALT_DEVICE void store_away(float* to, V a) {
    __stcs(reinterpret_cast<V*>(to), a);
}

template <class V, bool Two, Imaging Kind>
SUBSALT_GLOBAL void __launch_bounds__(across* down) image_rows(const BoxRows box, const float* p, const float* q,
                                                               float* image, const float* u, float scale, int* flag) {
    constexpr int each = rows_each<V>;
    constexpr unsigned lanes = sizeof(V) / sizeof(float);
    const unsigned z = (blockIdx.x % box.columns) * across + threadIdx.x;
    const unsigned first = blockIdx.x / box.columns * (each * down) + threadIdx.y;
    if (z >= box.vectors) return;
    V w[each], w_other[each], of_u[each], old[each];
#pragma unroll
    for (int r = 0; r < each; ++r) {
        const unsigned row = first + r * down;
        if (row >= box.rows) break;
        const unsigned ix = row / box.ny;
        const Index at = box.at + ix * box.plane + (row - ix * box.ny) * box.row + z * lanes;
        const Index in = row * box.nz + z * lanes;
        w[r] = load<V>(p + at);
        if constexpr (Two) w_other[r] = load<V>(q + at);
        if constexpr (Kind == Imaging::correlate) of_u[r] = load_once<V>(u + in);
        if constexpr (Kind == Imaging::correlate || Kind == Imaging::energy) old[r] = load_once<V>(image + in);
    }
#pragma unroll
    for (int r = 0; r < each; ++r) {
        const unsigned row = first + r * down;
        if (row >= box.rows) break;
        const Index in = row * box.nz + z * lanes;
        if constexpr (Kind == Imaging::finite) {
            const Index left = box.nz - z * lanes;
            bool bad = infinite(w[r], left);
            if constexpr (Two) bad = bad || infinite(w_other[r], left);
            if (bad) *flag = 1; // whoever writes writes this
        } else {
            if constexpr (Two) w[r] = mean_of(w[r], w_other[r]);
            if constexpr (Kind == Imaging::snapshot) store_away(image + in, w[r]);
            if constexpr (Kind == Imaging::correlate) store_away(image + in, add_product(scale, of_u[r], w[r], old[r]));
            if constexpr (Kind == Imaging::energy) store_away(image + in, add_product(scale, w[r], w[r], old[r]));
        }
    }
}

/// image = fma(scale u, w, image) over n floats; `Same`: w is u. The floats behind the last vector are done by the
/// first threads.
template <class V, bool Same>
SUBSALT_GLOBAL void __launch_bounds__(flat_threads)
    add_flat(float* image, const float* u, const float* w, Index n, float scale) {
    constexpr int each = rows_each<V>;
    constexpr Index lanes = sizeof(V) / sizeof(float);
    const Index vectors = n / lanes, first = static_cast<Index>(blockIdx.x) * (each * flat_threads) + threadIdx.x;
    V of_u[each], of_w[each], old[each];
#pragma unroll
    for (int r = 0; r < each; ++r) {
        const Index i = first + r * flat_threads;
        if (i >= vectors) break;
        of_u[r] = load_once<V>(u + i * lanes);
        if constexpr (!Same) of_w[r] = load_once<V>(w + i * lanes);
        old[r] = load_once<V>(image + i * lanes);
    }
#pragma unroll
    for (int r = 0; r < each; ++r) {
        const Index i = first + r * flat_threads;
        if (i >= vectors) break;
        store_away(image + i * lanes, add_product(scale, of_u[r], Same ? of_u[r] : of_w[r], old[r]));
    }
    const Index rest = vectors * lanes + first;
    if (lanes > 1 && blockIdx.x == 0 && rest < n)
        image[rest] = add_product(scale, u[rest], Same ? u[rest] : w[rest], image[rest]);
}

/// Whether vectors of four lie on 16 bytes in all arrays.
bool on_16_bytes(std::initializer_list<const void*> arrays) {
    bool all = true;
    for (const void* a : arrays)
        all = all && reinterpret_cast<std::uintptr_t>(a) % 16 == 0;
    return all;
}

template <class V, bool Two, Imaging Kind>
Status start_rows(const Problem& pb, const float* const* fields, const Box& box, float* image, const float* u,
                  float scale, int* flag, cudaStream_t stream) {
    constexpr Index lanes = sizeof(V) / sizeof(float);
    const Index nx = box.hi[0] - box.lo[0], ny = box.hi[1] - box.lo[1], nz = box.hi[2] - box.lo[2];
    if (nx <= 0 || ny <= 0 || nz <= 0) return cudaSuccess;
    BoxRows rows{};
    rows.plane = pb.plane, rows.row = pb.row, rows.nz = nz;
    rows.at = (box.lo[0] + pb.radius) * pb.plane + (box.lo[1] + pb.y_halo) * pb.row + z_front + box.lo[2];
    rows.rows = static_cast<unsigned>(nx * ny), rows.ny = static_cast<unsigned>(ny);
    rows.vectors = blocks_for(nz, lanes);
    rows.columns = blocks_for(rows.vectors, across);
    const dim3 grid(rows.columns * blocks_for(nx * ny, rows_each<V> * down));
    return launch(image_rows<V, Two, Kind>, grid, dim3(across, down), 0, stream, rows, fields[0],
                  Two ? fields[1] : nullptr, image, u, scale, flag);
}

/// Vectors of four where they fit: padded rows do when they begin so, rows of the box when they are whole vectors.
template <Imaging Kind>
Status image_box(const Problem& pb, const float* const* fields, const Box& box, float* image, const float* u,
                 float scale, int* flag, cudaStream_t stream) {
    const bool two = pb.fields == 2;
    bool wide = box.lo[2] % 4 == 0 && pb.row % 4 == 0 && pb.plane % 4 == 0 &&
                on_16_bytes({fields[0], two ? fields[1] : nullptr, image, u});
    if (Kind != Imaging::finite) wide = wide && (box.hi[2] - box.lo[2]) % 4 == 0;
    if (two)
        return wide ? start_rows<float4, true, Kind>(pb, fields, box, image, u, scale, flag, stream)
                    : start_rows<float, true, Kind>(pb, fields, box, image, u, scale, flag, stream);
    return wide ? start_rows<float4, false, Kind>(pb, fields, box, image, u, scale, flag, stream)
                : start_rows<float, false, Kind>(pb, fields, box, image, u, scale, flag, stream);
}

template <class V, bool Same>
Status start_flat(float* image, const float* u, const float* w, Index n, float scale, cudaStream_t stream) {
    constexpr Index floats = rows_each<V> * flat_threads * (sizeof(V) / sizeof(float));
    return launch(add_flat<V, Same>, dim3(blocks_for(n, floats)), dim3(flat_threads), 0, stream, image, u, w, n, scale);
}

} // namespace

Status snapshot(const Problem& pb, const float* const* fields, float* out, const Box& box, cudaStream_t stream) {
    return image_box<Imaging::snapshot>(pb, fields, box, out, nullptr, 0.0f, nullptr, stream);
}

Status correlate(const Problem& pb, float* image, const float* u, const float* const* fields, const Box& box,
                 float scale, cudaStream_t stream) {
    return image_box<Imaging::correlate>(pb, fields, box, image, u, scale, nullptr, stream);
}

Status energy(const Problem& pb, float* image, const float* const* fields, const Box& box, float scale,
              cudaStream_t stream) {
    return image_box<Imaging::energy>(pb, fields, box, image, nullptr, scale, nullptr, stream);
}

Status square(float* image, const float* u, Index n, float scale, cudaStream_t stream) {
    return on_16_bytes({image, u}) ? start_flat<float4, true>(image, u, nullptr, n, scale, stream)
                                   : start_flat<float, true>(image, u, nullptr, n, scale, stream);
}

Status product(float* image, const float* u, const float* w, Index n, float scale, cudaStream_t stream) {
    return on_16_bytes({image, u, w}) ? start_flat<float4, false>(image, u, w, n, scale, stream)
                                      : start_flat<float, false>(image, u, w, n, scale, stream);
}

Status look_for_infinite(const Problem& pb, const float* const* fields, int* flag, cudaStream_t stream) {
    return image_box<Imaging::finite>(pb, fields, {{0, 0, 0}, {pb.n[0], pb.n[1], pb.n[2]}}, nullptr, nullptr, 0.0f,
                                      flag, stream);
}

} // namespace subsalt::cuda
