// Makes the tiles of points: once per point set and grid, on the host.
//
// Memory on the device: 12 + 12 W bytes per point, and 4 for every tile it touches: 8 planes and 1.6 tiles in each for
// the usual support of 8 nodes, 160 bytes in all; 112 for a point on a node.
#include "context.hpp"
#include "points.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace subsalt::cuda {

namespace {

/// Tiles of planes in ascending order, and the points of each in survey order.
struct TileLists {
    std::vector<PointTile> tiles;
    std::vector<int> items;
};

/// Call `visit(bucket)` for every tile of a plane that point i touches with a row of some weight.
template <class Visit>
void for_tiles(const Points& points, const Problem& pb, Index i, Index tiles_z, Visit visit) {
    const Index y = points.base[3 * i + 1], z = points.base[3 * i + 2], width = points.width;
    const Index y_end = y + width < pb.n[1] ? y + width : pb.n[1], z_end = z + width < pb.n[2] ? z + width : pb.n[2];
    const float* wy = points.weights + (3 * i + 1) * width;
    for (Index ty = y / tile_rows; ty * tile_rows < y_end; ++ty) {
        const Index from = ty * tile_rows > y ? ty * tile_rows : y;
        const Index to = (ty + 1) * tile_rows < y_end ? (ty + 1) * tile_rows : y_end;
        bool weight = false;
        for (Index r = from; r < to; ++r)
            weight = weight || wy[r - y] != 0.0f;
        if (!weight) continue;
        for (Index tz = z / tile_depth; tz * tile_depth < z_end; ++tz)
            visit(ty * tiles_z + tz);
    }
}

TileLists lists_of(const Points& points, const Problem& pb) {
    const Index tiles_y = (pb.n[1] + tile_rows - 1) / tile_rows, tiles_z = (pb.n[2] + tile_depth - 1) / tile_depth;
    std::vector<std::size_t> next(static_cast<std::size_t>(tiles_y * tiles_z) + 1);
    TileLists lists;
    for (Index j = 0; j < points.n_planes; ++j) {
        const int plane = points.plane[j];
        // counted first, then put at its place: the order within a tile stays that of the points
        const auto for_points = [&](auto visit) {
            for (Index a = points.start[j]; a < points.start[j + 1]; ++a) {
                const Index i = points.item[a];
                if (points.weights[3 * i * points.width + plane - points.base[3 * i]] == 0.0f) continue;
                for_tiles(points, pb, i, tiles_z, [&](Index bucket) { visit(static_cast<std::size_t>(bucket), i); });
            }
        };
        next.assign(next.size(), 0);
        for_points([&](std::size_t bucket, Index) { ++next[bucket]; });
        std::size_t at = lists.items.size();
        for (std::size_t bucket = 0; bucket + 1 < next.size(); ++bucket) {
            const std::size_t count = next[bucket], first = at;
            next[bucket] = first;
            at += count;
            if (count > 0)
                lists.tiles.push_back({plane, static_cast<int>(bucket / tiles_z) * tile_rows,
                                       static_cast<int>(bucket % tiles_z) * tile_depth, static_cast<int>(first)});
        }
        lists.items.resize(at);
        for_points([&](std::size_t bucket, Index i) { lists.items[next[bucket]++] = static_cast<int>(i); });
    }
    lists.tiles.push_back({0, 0, 0, static_cast<int>(lists.items.size())});
    return lists;
}

/// The smallest box that holds the supports of all points.
Box touched_by(const Points& points, const Problem& pb) {
    if (points.n == 0) return {};
    Box out{{pb.n[0], pb.n[1], pb.n[2]}, {0, 0, 0}};
    for (Index i = 0; i < points.n; ++i)
        for (int a = 0; a < 3; ++a) {
            const Index first = points.base[3 * i + a];
            out.lo[a] = std::min(out.lo[a], first);
            out.hi[a] = std::min(std::max(out.hi[a], first + points.width), pb.n[a]);
        }
    return out;
}

template <class T>
Status upload(const T* from, std::size_t n, void*& owned, const T*& view, cudaStream_t stream) {
    SUBSALT_CHECK(allocate(&owned, static_cast<std::int64_t>(n * sizeof(T))));
    view = static_cast<const T*>(owned);
    return n == 0 ? cudaSuccess : cudaMemcpyAsync(owned, from, n * sizeof(T), cudaMemcpyHostToDevice, stream);
}

Status fill(DevicePoints& to, const Points& points, const TileLists& lists, cudaStream_t stream) {
    PointsView& view = to.view;
    view.n = points.n;
    view.width = points.width;
    view.n_tiles = static_cast<Index>(lists.tiles.size()) - 1;
    const std::size_t n = static_cast<std::size_t>(points.n), width = static_cast<std::size_t>(points.width);
    SUBSALT_CHECK(upload(points.base, 3 * n, to.owned[0], view.base, stream));
    SUBSALT_CHECK(upload(points.weights, 3 * n * width, to.owned[1], view.weights, stream));
    SUBSALT_CHECK(upload(lists.tiles.data(), lists.tiles.size(), to.owned[2], view.tiles, stream));
    SUBSALT_CHECK(upload(lists.items.data(), lists.items.size(), to.owned[3], view.items, stream));
    return cudaStreamSynchronize(stream); // the lists of the host go
}

} // namespace

Status make_points(const Points& host, const Problem& pb, DevicePoints** out, cudaStream_t stream) {
    *out = nullptr;
    const TileLists lists = lists_of(host, pb);
    if (lists.items.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return cudaErrorInvalidValue;
    auto made = std::make_unique<DevicePoints>();
    made->touched = touched_by(host, pb);
    const Status status = fill(*made, host, lists, stream);
    if (status != cudaSuccess) {
        free_points(made.release());
        return status;
    }
    *out = made.release();
    return cudaSuccess;
}

void free_points(DevicePoints* points) {
    if (points == nullptr) return;
    for (void* p : points->owned)
        release(p);
    delete points;
}

Index count_of_points(const DevicePoints& points) {
    return points.view.n;
}

Index width_of_points(const DevicePoints& points) {
    return points.view.width;
}

Box touched_by_points(const DevicePoints& points) {
    return points.touched;
}

} // namespace subsalt::cuda
