// Points on the device: what native/include/problem.hpp has on the host, cut into the tiles that blocks inject.
#pragma once

#include "kernels.hpp"

namespace subsalt::cuda {

constexpr int tile_rows = 16, tile_depth = 64; // rows of y, nodes of z

/// Nodes of one plane that a block injects: rows [y, y + tile_rows), [z, z + tile_depth). The points that touch it are
/// items [first, first of the next tile), in survey order.
struct alignas(16) PointTile {
    int plane, y, z, first;
};

/// What kernels receive; every pointer is on the device.
struct PointsView {
    Index n;
    int width;              // nodes per axis of a support, W
    const int* base;        // (n, 3)
    const float* weights;   // (n, 3, W)
    const PointTile* tiles; // (n_tiles + 1): the last one is where items end
    const int* items;
    Index n_tiles;
};

struct DevicePoints {
    PointsView view{};
    Box touched{};       // holds every node of a support; empty without points
    void* owned[4] = {}; // base, weights, tiles, items
};

} // namespace subsalt::cuda
