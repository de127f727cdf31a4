// The shell of a box, kept and put back, on the device; the order of a record is that of native/kernels/shell.hpp:
// field after field, planes of x, rows of y, z fastest; rows inside the shell of x or y whole, of the others both ends.
//
//   keep       record = u      8 bytes per cell of the shell
//   put_back   u = record      8 bytes per cell; with a free surface 8 radius per row for the odd images, and 4 for z =
//   0
//
// Arrays: fields padded (problem.hpp), record (fields, cells).
//
// A block has `block_cells` consecutive cells of one plane of the record, so the record is read and written in whole
// lines; rows are lines of the fields too, their ends are sectors of 16 to 32 bytes. Blocks of whole planes come first,
// those of the rings between them behind.
#include "kernels.hpp"

namespace subsalt::cuda {

namespace {

constexpr unsigned shell_threads = 256, cells_each = 4, block_cells = shell_threads * cells_each;

/// Where the blocks and the cells of a shell are.
struct ShellCut {
    Index corner, plane, row;             // offset of the box in padded arrays, floats between planes and rows
    Index cells;                          // of a field
    unsigned nz, ny, inner;               // of the box; rows whose ends alone are in the shell
    unsigned low_y, front, back;          // widths
    unsigned low_x, rings, planes;        // whole planes in front, rings, all planes
    unsigned ring;                        // cells of a ring
    unsigned per_whole, per_ring, wholes; // blocks per whole plane and ring; of all whole planes
};

/// Offset from the first cell of a plane in padded arrays, of cell c of a ring.
SUBSALT_DEVICE Index in_ring(const ShellCut& cut, unsigned c) {
    const unsigned low = cut.low_y * cut.nz, ends = cut.front + cut.back;
    if (c < low) return c / cut.nz * cut.row + c % cut.nz;
    c -= low;
    if (c < cut.inner * ends) {
        const unsigned y = cut.low_y + c / ends, e = c % ends;
        return y * cut.row + (e < cut.front ? e : cut.nz - ends + e);
    }
    c -= cut.inner * ends;
    return (cut.low_y + cut.inner + c / cut.nz) * cut.row + c % cut.nz;
}

template <bool PutBack>
SUBSALT_GLOBAL void __launch_bounds__(shell_threads) move_shell(const ShellCut cut, float* p, float* q, float* record) {
    float* const field = blockIdx.y == 0 ? p : q;
    record += blockIdx.y * cut.cells;
    // plane of the box, its first cell in the record, and the part of it that this block has
    const bool whole = blockIdx.x < cut.wholes;
    const unsigned number = whole ? blockIdx.x / cut.per_whole : (blockIdx.x - cut.wholes) / cut.per_ring;
    const unsigned piece = whole ? blockIdx.x % cut.per_whole : (blockIdx.x - cut.wholes) % cut.per_ring;
    const unsigned size = whole ? cut.ny * cut.nz : cut.ring;
    const bool behind = whole && number >= cut.low_x;
    const unsigned plane = !whole ? cut.low_x + number : behind ? number + cut.rings : number;
    const Index of_whole = static_cast<Index>(cut.ny) * cut.nz;
    record += whole ? number * of_whole + (behind ? static_cast<Index>(cut.rings) * cut.ring : 0)
                    : cut.low_x * of_whole + static_cast<Index>(number) * cut.ring;
    float* const first = field + cut.corner + plane * cut.plane;
#pragma unroll
    for (unsigned r = 0; r < cells_each; ++r) {
        const unsigned c = piece * block_cells + r * shell_threads + threadIdx.x;
        if (c >= size) return;
        const Index at = whole ? c / cut.nz * cut.row + c % cut.nz : in_ring(cut, c);
        if constexpr (PutBack)
            first[at] = __ldcs(record + c);
        else
            __stcs(record + c, first[at]);
    }
}

/// Row z = 0 is zero, and odd images stand above it: u[-k] = -u[k]. Thread k of a row.
SUBSALT_GLOBAL void __launch_bounds__(shell_threads)
    reflect_rows(const Problem pb, float* p, float* q, const Box box, unsigned rows) {
    const unsigned row = blockIdx.x * blockDim.y + threadIdx.y, ny = static_cast<unsigned>(box.hi[1] - box.lo[1]);
    const int k = static_cast<int>(threadIdx.x);
    if (row >= rows || k > pb.radius || k >= pb.n[2]) return;
    float* const u = (blockIdx.y == 0 ? p : q) + (box.lo[0] + row / ny + pb.radius) * pb.plane +
                     (box.lo[1] + row % ny + pb.y_halo) * pb.row + z_front;
    u[-k] = k == 0 ? 0.0f : -u[k];
}

ShellCut cut_of(const Problem& pb, const Shell& shell) {
    const Box& box = shell.box;
    const auto length = [&](int axis) { return static_cast<unsigned>(box.hi[axis] - box.lo[axis]); };
    const auto width = [&](int side) { return static_cast<unsigned>(shell.width[side]); };
    ShellCut cut{};
    cut.corner = (box.lo[0] + pb.radius) * pb.plane + (box.lo[1] + pb.y_halo) * pb.row + z_front + box.lo[2];
    cut.plane = pb.plane, cut.row = pb.row, cut.cells = shell.cells;
    cut.ny = length(1), cut.nz = length(2), cut.planes = length(0);
    cut.low_x = width(0), cut.rings = cut.planes - width(0) - width(1);
    cut.low_y = width(2), cut.inner = cut.ny - width(2) - width(3);
    cut.front = width(4), cut.back = width(5);
    cut.ring = (width(2) + width(3)) * cut.nz + cut.inner * (cut.front + cut.back);
    cut.per_whole = blocks_for(static_cast<Index>(cut.ny) * cut.nz, block_cells);
    cut.per_ring = blocks_for(cut.ring, block_cells);
    cut.wholes = (width(0) + width(1)) * cut.per_whole;
    return cut;
}

template <bool PutBack>
Status move(const Problem& pb, float* p, float* q, const Shell& shell, float* record, cudaStream_t stream) {
    if (shell.cells == 0) return cudaSuccess;
    const ShellCut cut = cut_of(pb, shell);
    const dim3 grid(cut.wholes + cut.rings * cut.per_ring, static_cast<unsigned>(pb.fields));
    return launch(move_shell<PutBack>, grid, dim3(shell_threads), 0, stream, cut, p, q, record);
}

} // namespace

Status keep_shell(const Problem& pb, const float* const* fields, const Shell& shell, float* record,
                  cudaStream_t stream) {
    return move<false>(pb, const_cast<float*>(fields[0]), const_cast<float*>(fields[1]), shell, record, stream);
}

Status put_back_shell(const Problem& pb, float* const* fields, const Shell& shell, const float* record,
                      cudaStream_t stream) {
    SUBSALT_CHECK(move<true>(pb, fields[0], fields[1], shell, const_cast<float*>(record), stream));
    const Index rows = (shell.box.hi[0] - shell.box.lo[0]) * (shell.box.hi[1] - shell.box.lo[1]);
    if (!pb.free_surface || rows <= 0) return cudaSuccess;
    const dim3 block(16, shell_threads / 16); // radius + 1 threads of 16 per row
    const dim3 grid(blocks_for(rows, block.y), static_cast<unsigned>(pb.fields));
    return launch(reflect_rows, grid, block, 0, stream, pb, fields[0], fields[1], shell.box,
                  static_cast<unsigned>(rows));
}

} // namespace subsalt::cuda
