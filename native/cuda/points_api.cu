// C entries of points and imaging.
#include "context.hpp"

using namespace subsalt;
using namespace subsalt::cuda;

namespace {

/// Fields as the launchers take them.
struct Fields {
    float* f[2];
    explicit Fields(void* const p[2]) : f{static_cast<float*>(p[0]), static_cast<float*>(p[1])} {}
};

/// Room on the device for a call, and what is copied to or from the host.
template <class Work>
Status with_room(Index floats, Work work) {
    void* room = nullptr;
    SUBSALT_CHECK(allocate(&room, floats * 4));
    Status status = work(static_cast<float*>(room));
    if (status == cudaSuccess) status = cudaStreamSynchronize(context().compute);
    release(room);
    return status;
}

Status to_host(float* out, const float* room, Index floats) {
    return copy_async(out, room, floats * 4, cudaMemcpyDeviceToHost, context().compute);
}

} // namespace

int subsalt_cuda_points(const void* plan, const void* points, int64_t size, void** out) {
    *out = nullptr;
    if (size != static_cast<int64_t>(sizeof(Points))) return said(cudaErrorInvalidValue, "points of another build");
    return entered("bringing points to the GPU", [&]() -> Status {
        DevicePoints* made = nullptr;
        SUBSALT_CHECK(make_points(*static_cast<const Points*>(points), plan_of(plan).pb, &made, context().compute));
        *out = made;
        return cudaSuccess;
    });
}

int subsalt_cuda_free_points(void* points) {
    enter_to_free();
    free_points(static_cast<DevicePoints*>(points));
    return 0;
}

int subsalt_cuda_snapshot(const void* plan, void* const fields[2], float* out, const int64_t lo[3],
                          const int64_t hi[3]) {
    return entered("taking a snapshot", [&] {
        return snapshot(plan_of(plan).pb, Fields(fields).f, out, box_of(lo, hi), context().compute);
    });
}

int subsalt_cuda_correlate(const void* plan, float* image, const float* u, void* const fields[2], const int64_t lo[3],
                           const int64_t hi[3], float scale) {
    return entered("correlating wavefields", [&] {
        return correlate(plan_of(plan).pb, image, u, Fields(fields).f, box_of(lo, hi), scale, context().compute);
    });
}

int subsalt_cuda_square(float* image, const float* u, int64_t n, float scale) {
    return entered("adding up energy", [&] { return square(image, u, n, scale, context().compute); });
}

int subsalt_cuda_product(float* image, const float* u, const float* w, int64_t n, float scale) {
    return entered("correlating snapshots", [&] { return product(image, u, w, n, scale, context().compute); });
}

int subsalt_cuda_shell(const void* plan, void* const fields[2], const int64_t lo[3], const int64_t hi[3],
                       const int64_t width[6], float* record, int32_t put_back) {
    const Problem& pb = plan_of(plan).pb;
    const Shell shell = shell_of(lo, hi, width);
    return entered(put_back != 0 ? "putting a shell back" : "keeping a shell", [&] {
        return put_back != 0 ? put_back_shell(pb, Fields(fields).f, shell, record, context().compute)
                             : keep_shell(pb, Fields(fields).f, shell, record, context().compute);
    });
}

int subsalt_cuda_inject(const void* plan, void* const fields[2], const void* points, const float* values) {
    const Problem& pb = plan_of(plan).pb;
    const auto& pts = *static_cast<const DevicePoints*>(points);
    const Index n = count_of_points(pts);
    const auto work = [&](float* room) -> Status {
        SUBSALT_CHECK(copy_async(room, values, n * 4, cudaMemcpyHostToDevice, context().compute));
        return inject(pb, Fields(fields).f, pts, room, context().compute);
    };
    return entered("injecting samples", [&] { return with_room(n, work); });
}

int subsalt_cuda_record(const void* plan, void* const fields[2], const void* points, float* out) {
    const Problem& pb = plan_of(plan).pb;
    const auto& pts = *static_cast<const DevicePoints*>(points);
    const Index n = count_of_points(pts);
    const auto work = [&](float* room) -> Status {
        SUBSALT_CHECK(record(pb, Fields(fields).f, pts, room, context().compute));
        return to_host(out, room, n);
    };
    return entered("recording samples", [&] { return with_room(n, work); });
}

int subsalt_cuda_record_shares(const void* plan, void* const fields[2], const void* points, float* out) {
    const Problem& pb = plan_of(plan).pb;
    const auto& pts = *static_cast<const DevicePoints*>(points);
    const Index n = count_of_points(pts) * width_of_points(pts);
    const auto work = [&](float* room) -> Status {
        SUBSALT_CHECK(record_shares(pb, Fields(fields).f, pts, room, context().compute));
        return to_host(out, room, n);
    };
    return entered("recording samples", [&] { return with_room(n, work); });
}

int subsalt_cuda_is_finite(const void* plan, void* const fields[2], int32_t* finite) {
    int found = 0;
    const auto work = [&](float* room) -> Status {
        int* const flag = reinterpret_cast<int*>(room);
        SUBSALT_CHECK(cudaMemsetAsync(flag, 0, sizeof(int), context().compute));
        SUBSALT_CHECK(look_for_infinite(plan_of(plan).pb, Fields(fields).f, flag, context().compute));
        return copy_async(&found, flag, sizeof(int), cudaMemcpyDeviceToHost, context().compute);
    };
    const int code = entered("looking for numbers that are not finite", [&] { return with_room(1, work); });
    *finite = found == 0;
    return code;
}
