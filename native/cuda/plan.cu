// A problem on the device: the host's `Problem` with every pointer exchanged for one on the device.
#include "staging.hpp"

namespace subsalt::cuda {

namespace {

/// Copy a table of the host to the device and make `table` point to it.
template <class T>
Status upload(const T*& table, Index n, std::vector<void*>& owned) {
    if (table == nullptr || n == 0) {
        table = nullptr;
        return cudaSuccess;
    }
    void* made = nullptr;
    SUBSALT_CHECK(allocate(&made, n * static_cast<Index>(sizeof(T))));
    owned.push_back(made);
    SUBSALT_CHECK(
        copy_async(made, table, n * static_cast<Index>(sizeof(T)), cudaMemcpyHostToDevice, context().compute));
    table = static_cast<const T*>(made);
    return cudaSuccess;
}

/// Bring the rows of a stretched depth axis to the device, from 16 numbers before z = 0 to 16 behind the last vector.
Status upload_stretch(Problem& pb, std::vector<void*>& owned) {
    Stretch& own = pb.stretch;
    for (const float** row : {&own.square, &own.centre[0], &own.centre[1], &own.root, &own.power}) {
        if (*row == nullptr) continue;
        *row -= z_front;
        SUBSALT_CHECK(upload(*row, pb.compact_row + 2 * z_front, owned));
        *row += z_front;
    }
    return cudaSuccess;
}

/// Rows of the cells of an axis in its memory fields (DeviceProblem::layer_cell), from cell -max_radius on.
std::vector<int> layer_cells(const Problem& pb, int axis) {
    const Index n = pb.n[axis], lo = pb.width[2 * axis], hi = pb.width[2 * axis + 1];
    // along z the windows of the processor are wider than the layer
    const Index back = axis == 2 ? n - pb.wz.stride : n - hi - lo;
    std::vector<int> cells(static_cast<std::size_t>(n + 2 * max_radius + 8), -1);
    for (Index i = 0; i < n; ++i)
        if (i < lo || i >= n - hi)
            cells[static_cast<std::size_t>(i + max_radius)] = static_cast<int>(i < lo ? i : i - back);
    return cells;
}

Status fill(DevicePlan& plan, const Problem& host, const void* const model[6]) {
    plan.pb = {host, {}};
    DeviceProblem& pb = plan.pb;
    std::vector<int> cells[3];
    const auto floats = [model](int i) { return static_cast<const float*>(model[i]); };
    if (pb.storage == ModelStorage::u16) {
        for (int i = 0; i < 3; ++i)
            pb.packed[i].values = static_cast<const std::uint16_t*>(model[i]);
    } else {
        pb.m = floats(0), pb.e = floats(1), pb.s = floats(2);
    }
    for (int a = 0; a < 3; ++a) {
        pb.tilt.axis[a] = floats(3 + a);
        // 16 entries behind the last are there on the host too
        SUBSALT_CHECK(upload(pb.b[a], pb.n[a] + 16, plan.owned));
        SUBSALT_CHECK(upload(pb.t[a], pb.n[a] + 16, plan.owned));
        if (pb.boundary != Boundary::pml) continue;
        cells[a] = layer_cells(pb, a);
        pb.layer_cell[a] = cells[a].data();
        SUBSALT_CHECK(upload(pb.layer_cell[a], static_cast<Index>(cells[a].size()), plan.owned));
        pb.layer_cell[a] += max_radius;
    }
    SUBSALT_CHECK(upload_stretch(pb, plan.owned));
    // windows along z are read by processors alone
    pb.wz.b = pb.wz.in_layer = pb.wz.near_side = nullptr;
    return cudaStreamSynchronize(context().compute); // the tables of the host may go
}

} // namespace

DevicePlan::~DevicePlan() {
    for (void* p : owned)
        release(p);
}

} // namespace subsalt::cuda

using namespace subsalt;
using namespace subsalt::cuda;

int subsalt_cuda_plan(const void* problem, int64_t size, const void* const model[6], void** plan) {
    *plan = nullptr;
    if (size != static_cast<int64_t>(sizeof(Problem))) return said(cudaErrorInvalidValue, "a problem of another build");
    return entered("bringing a problem to the GPU", [&]() -> Status {
        auto made = std::make_unique<DevicePlan>();
        SUBSALT_CHECK(fill(*made, *static_cast<const Problem*>(problem), model));
        tunings(made->pb, &made->tuning, 1);
        *plan = made.release();
        return cudaSuccess;
    });
}

int subsalt_cuda_free_plan(void* plan) {
    enter_to_free();
    delete static_cast<DevicePlan*>(plan);
    Loans::of_process().drop_idle(); // buffers of the size of its arrays
    return 0;
}

int subsalt_cuda_memory_step(const void* plan, void* const levels[13], const int64_t lo[3], const int64_t hi[3]) {
    return entered("advancing the memory of the layer",
                   [&] { return memory_step(plan_of(plan).pb, levels_of(levels), box_of(lo, hi), context().compute); });
}

int subsalt_cuda_field_step(const void* plan, void* const levels[13], const int64_t lo[3], const int64_t hi[3]) {
    const DevicePlan& p = plan_of(plan);
    return entered("advancing the wavefield",
                   [&] { return field_step(p.pb, levels_of(levels), box_of(lo, hi), p.tuning, context().compute); });
}

int subsalt_cuda_apply_l(const void* plan, void* const fields[2], void* const out[2], const int64_t lo[3],
                         const int64_t hi[3]) {
    const DeviceProblem& pb = plan_of(plan).pb;
    float* const f[2] = {static_cast<float*>(fields[0]), static_cast<float*>(fields[1])};
    float* const o[2] = {static_cast<float*>(out[0]), static_cast<float*>(out[1])};
    const auto apply = pb.medium == Medium::isotropic ? apply_l_iso
                       : pb.medium == Medium::vti     ? apply_l_vti
                                                      : apply_l_tti;
    return entered("applying the operator", [&] { return apply(pb, f, o, box_of(lo, hi), context().compute); });
}
