// Injection and recording at points between nodes, on the device; the formulas, the order of operations and the bits
// are those of native/kernels/points.hpp.
//
//   inject   p += amount, and in media of two fields p += (0.5 (e + s)) amount, q += (0.5 (s + 1)) amount, with
//            amount = (m ((w_x w_y) w_z)) value; points in survey order at every node
//   record   lanes t_k = fma((w_x w_y) w_z, u, t_k) over y, their sum by a fixed tree, per block of eight z nodes; then
//            the planes in x order
//
// Arrays: fields and model as in problem.hpp; base (n, 3), weights (n, 3, W); tiles and items below.
//
// Injection uses no atomics: a node belongs to one thread. The nodes that points touch are cut into tiles of one plane,
// `tile_rows` rows and `tile_depth` nodes of z; a block has one tile and takes its points in survey order, `at_once` of
// them at a time from shared memory. Thread (row, lane) owns the nodes z = lane (mod 8) of its row, so a support of
// eight nodes is one node per thread, and keeps the last node it had in registers: receivers of one depth go through
// without a load. What is added, and in which order, does not depend on the cut.
//
// Bytes, counted at L2: injected, 4 (2 + model arrays) per node of a support, W^3 nodes, less what neighbours share; a
// point on a node has one. Recorded, 4 per node and field. Beside that 12 + 12 W per point and tile: some microseconds
// for one source, 10 MB per plane of 10^4 receivers.
#include "points.hpp"

#include "model_storage.cuh"

namespace subsalt::cuda {

namespace {

constexpr int lanes = 8, at_once = 32; // threads along z; points in shared memory
constexpr int inject_threads = tile_rows * lanes;
constexpr int group = 64, record_threads = 256; // threads of one point, and of a block
constexpr int nowhere = 0x7fffffff;             // a row that no tile has

/// The node that a thread of `inject` holds, with what its amounts are multiplied by.
template <bool Two, class Storage>
struct Node {
    Index at = -1; // offset in padded arrays; -1: none
    float p = 0, q = 0, m = 0, to_p = 0, to_q = 0;

    SUBSALT_DEVICE void take(const Problem& pb, const float* p_field, const float* q_field, Index offset) {
        at = offset;
        p = p_field[at];
        m = Storage::one(pb, Model::m, at);
        if constexpr (Two) {
            q = q_field[at];
            const float e = Storage::one(pb, Model::e, at), s = Storage::one(pb, Model::s, at);
            to_p = share_of_p(e, s);
            to_q = share_of_q(s);
        }
    }
    SUBSALT_DEVICE void add(float weight, float value) {
        const float amount = injected(m, weight, value);
        if constexpr (Two) {
            p += to_p * amount;
            q += to_q * amount;
        } else
            p += amount;
    }
    SUBSALT_DEVICE void put(float* p_field, float* q_field) const {
        if (at < 0) return;
        p_field[at] = p;
        if constexpr (Two) q_field[at] = q;
    }
};

/// Some points of a tile in shared memory: w_x w_y per row of the support, w_z, value, first row and first z.
struct Staged {
    float *wxy, *wz, *value;
    int *y, *z;

    SUBSALT_DEVICE Staged(float* memory, int width)
        : wxy(memory), wz(wxy + at_once * width), value(wz + at_once * width),
          y(reinterpret_cast<int*>(value + at_once)), z(y + at_once) {}
    static std::size_t bytes(int width) { return sizeof(float) * at_once * (2 * static_cast<std::size_t>(width) + 3); }
    /// Eight threads per point. A point without weight on the plane, or without a value, has no row.
    SUBSALT_DEVICE void fill(const PointsView& points, const float* values, int plane, int first, int count) const {
        const int lane = static_cast<int>(threadIdx.x) % lanes;
        for (int a = static_cast<int>(threadIdx.x) / lanes; a < count; a += tile_rows) {
            const Index i = points.items[first + a];
            const int* base = points.base + 3 * i;
            const float* w = points.weights + 3 * i * points.width;
            const float wx = w[plane - base[0]], sample = values[i];
            for (int k = lane; k < points.width; k += lanes) {
                wxy[a * points.width + k] = wx * w[points.width + k];
                wz[a * points.width + k] = w[2 * points.width + k];
            }
            if (lane == 0) {
                value[a] = sample;
                y[a] = wx == 0.0f || sample == 0.0f ? nowhere : base[1];
                z[a] = base[2];
            }
        }
    }
};

template <bool Two, class Storage>
SUBSALT_GLOBAL void __launch_bounds__(inject_threads)
    inject_tile(const Problem pb, float* p, float* q, const PointsView points, const float* values) {
    SUBSALT_SHARED(float, memory);
    const int width = points.width;
    const Staged staged(memory, width);
    const PointTile tile = points.tiles[blockIdx.x];
    const int end = points.tiles[blockIdx.x + 1].first;
    const int lane = static_cast<int>(threadIdx.x) % lanes, y = tile.y + static_cast<int>(threadIdx.x) / lanes;
    const int z1 = static_cast<int>(tile.z + tile_depth < pb.n[2] ? tile.z + tile_depth : pb.n[2]);
    const bool inside = y < pb.n[1];
    const Index surface = (tile.plane + pb.radius) * pb.plane + (y + pb.y_halo) * pb.row + z_front; // z = 0
    bool low = false; // a point that reaches the rows of odd images was added
    Node<Two, Storage> node;

    for (int first = tile.first; first < end; first += at_once) {
        const int count = end - first < at_once ? end - first : at_once;
        __syncthreads(); // the points before are done with
        staged.fill(points, values, tile.plane, first, count);
        __syncthreads();
        if (!inside) continue;
        for (int a = 0; a < count; ++a) {
            const int jy = y - staged.y[a];
            if (jy < 0 || jy >= width) continue;
            const float wxy = staged.wxy[a * width + jy], value = staged.value[a];
            if (wxy == 0.0f) continue;
            const int z = staged.z[a];
            low = low || z <= pb.radius;
            for (int k = (lane - z) & (lanes - 1); k < width; k += lanes) {
                if (z + k < tile.z || z + k >= z1) continue;
                if (node.at != surface + z + k) {
                    node.put(p, q);
                    node.take(pb, p, q, surface + z + k);
                }
                node.add(wxy * staged.wz[a * width + k], value);
            }
        }
    }
    node.put(p, q);
    if (!pb.free_surface || !low || tile.z != 0) return;
    // the odd images above the surface follow what was added below it; the first tile has all their rows
    for (int k = lane; k <= pb.radius && k < pb.n[2]; k += lanes) {
        p[surface - k] = k == 0 ? 0.0f : -p[surface + k];
        if constexpr (Two) q[surface - k] = k == 0 ? 0.0f : -q[surface + k];
    }
}

/// t_k of one plane of a support, lane k. Eight rows are asked for before the first is used; rows of zero weight are
/// left out, in their place the first one is read.
template <bool Two>
SUBSALT_DEVICE float lane_sum(const float* p, const float* q, Index row, const float* wy, int ny, float wx, float wz) {
    float t = 0.0f;
    for (int first = 0; first < ny; first += 8) {
        float w[8], u[8], v[8];
#pragma unroll
        for (int j = 0; j < 8; ++j)
            w[j] = wy[first + j < ny ? first + j : ny - 1];
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            w[j] = first + j < ny ? wx * w[j] : 0.0f;
            const Index at = w[j] != 0.0f ? (first + j) * row : 0;
            u[j] = p[at];
            if constexpr (Two) v[j] = q[at];
        }
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            if constexpr (Two) u[j] = mean_of(u[j], v[j]);
            t = w[j] != 0.0f ? add_product(w[j], wz, u[j], t) : t;
        }
    }
    return t;
}

/// Four points per block; of the 64 threads of a point eight have a plane, one per lane.
template <bool Two, bool Shares>
SUBSALT_GLOBAL void __launch_bounds__(record_threads, 3)
    record_points(const Problem pb, const float* p, const float* q, const PointsView points, float* out) {
    SUBSALT_SHARED_ARRAY(float, lane_sums, record_threads);
    SUBSALT_SHARED_ARRAY(float, plane_sums, record_threads / lanes);
    const int thread = static_cast<int>(threadIdx.x), lane = thread % lanes, width = points.width;
    const Index i = static_cast<Index>(blockIdx.x) * (record_threads / group) + thread / group;
    const bool there = i < points.n;
    const int* base = points.base + 3 * (there ? i : 0);
    const float* w = points.weights + 3 * (there ? i : 0) * width;
    const auto nodes = [&](int axis) {
        const Index room = pb.n[axis] - base[axis];
        return static_cast<int>(room < width ? room : width);
    };
    const int nx = nodes(0), ny = nodes(1), nz = nodes(2);
    const Index corner = (base[0] + pb.radius) * pb.plane + (base[1] + pb.y_halo) * pb.row + z_front + base[2];
    float total = 0.0f;
    for (int x = 0; x < width; x += lanes) {
        const int jx = x + thread % group / lanes;
        const float wx = there && jx < nx ? w[jx] : 0.0f;
        float plane = 0.0f; // of the thread of lane 0
        for (int z = 0; z < width; z += lanes) {
            float t = 0.0f;
            if (wx != 0.0f && z + lane < nz) {
                const Index at = corner + jx * pb.plane + z + lane;
                t = lane_sum<Two>(p + at, Two ? q + at : q, pb.row, w + width, ny, wx, w[2 * width + z + lane]);
            }
            lane_sums[thread] = t;
            __syncthreads();
            if (lane == 0 && z < nz) {
                const float* s = lane_sums + thread;
                plane += ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
            }
            __syncthreads();
        }
        if constexpr (Shares) {
            if (there && lane == 0 && jx < width) out[i * width + jx] = plane; // 0 without weight
        } else {
            if (lane == 0) plane_sums[thread / lanes] = plane;
            __syncthreads();
            if (there && thread % group == 0)
                for (int j = 0; j < lanes && x + j < nx; ++j)
                    if (w[x + j] != 0.0f) total += plane_sums[thread / lanes + j];
            __syncthreads();
        }
    }
    if constexpr (!Shares)
        if (there && thread % group == 0) out[i] = total;
}

template <bool Shares>
Status record_with(const Problem& pb, const float* const* fields, const PointsView& points, float* out,
                   cudaStream_t stream) {
    const dim3 grid(blocks_for(points.n, record_threads / group));
    if (pb.fields == 2)
        return launch(record_points<true, Shares>, grid, record_threads, 0, stream, pb, fields[0], fields[1], points,
                      out);
    return launch(record_points<false, Shares>, grid, record_threads, 0, stream, pb, fields[0], nullptr, points, out);
}

} // namespace

Status inject(const Problem& pb, float* const* fields, const DevicePoints& points, const float* values,
              cudaStream_t stream) {
    const PointsView& view = points.view;
    const dim3 grid(static_cast<unsigned>(view.n_tiles));
    const auto start = [&](auto kernel) {
        return launch(kernel, grid, inject_threads, Staged::bytes(view.width), stream, pb, fields[0], fields[1], view,
                      values);
    };
    const bool packed = pb.storage == ModelStorage::u16;
    if (pb.fields == 2) return packed ? start(inject_tile<true, Packed16>) : start(inject_tile<true, Floats>);
    return packed ? start(inject_tile<false, Packed16>) : start(inject_tile<false, Floats>);
}

Status record(const Problem& pb, const float* const* fields, const DevicePoints& points, float* out,
              cudaStream_t stream) {
    return record_with<false>(pb, fields, points.view, out, stream);
}

Status record_shares(const Problem& pb, const float* const* fields, const DevicePoints& points, float* shares,
                     cudaStream_t stream) {
    return record_with<true>(pb, fields, points.view, shares, stream);
}

} // namespace subsalt::cuda
