// The segment: n time steps of one wavefield between two returns to Python.
//
//   a step from u[it]   Psi, and the next level over the previous one     memory_step, field_step
//                       what is injected into it                          inject, feed after feed
//                       its shell, put back or kept                       put_back_shell, keep_shell
//                       what is recorded, copied, added up and imaged     record, snapshot, energy, correlate
//
// These are the calls, in the order, of `segment.by_step` of Python, so they give its bits. All kernels run on one
// stream in that order; two more streams carry copies to and from the host meanwhile (staging.hpp). Whether the field
// is finite is looked at every so many steps: one number comes back, and nothing is started before it is known, since a
// wavefield that has blown up is to be found at the step that found it. The device then waits for about 10 us: 2 % of
// fifty steps of the smallest grids, nothing for large ones.
//
// A step is started by 3 to 8 launches of 2 to 3 us each, by a host that runs ahead of the device. Replaying two
// captured steps as a graph would spare most of that, and about 1 us per kernel on the device; but rows of samples and
// records change their place with every step, so every kernel would have to read its step from the device. Only grids
// below about a million points would gain.
//
// What a wavefield has not reached is left out (reached.cu); the device is waited for at every look at how far it is.
//
// Bytes per point beyond those of the steps: those of imaging.cu and shell.cu, and of the link 4 per point of a
// snapshot to the host or of a partner from it.
#include "device_segment.hpp"

#include <algorithm>
#include <utility>

namespace subsalt::cuda {

namespace {

/// Whether a field is not finite, on the device and, page-locked, on the host: one number for the whole process.
struct Flag {
    void *device = nullptr, *host = nullptr;

    Status open() {
        if (device == nullptr) SUBSALT_CHECK(allocate(&device, sizeof(int)));
        return host == nullptr ? allocate_host(&host, sizeof(int)) : cudaSuccess;
    }
};
Flag& flag() {
    static Flag made;
    return made;
}

} // namespace

Status DeviceSegment::open(const SubsaltCudaWork& work) {
    SUBSALT_CHECK(flag().open());
    for (Index i = 0; i < work.n_feeds + work.n_taps; ++i) {
        const bool in = i < work.n_feeds;
        const SubsaltCudaSeries& s = in ? work.feeds[i] : work.taps[i - work.n_feeds];
        if (s.points == nullptr || s.nt == 0) continue;
        const auto* points = static_cast<const DevicePoints*>(s.points);
        const HostRows rows{4 * count_of_points(*points), reinterpret_cast<char*>(s.series), s.nt, {}};
        const Index room_rows = rows_at_once(work.series_bytes, rows);
        if (in) {
            feeds_.emplace_back(new Feed{points, s.nt, {}});
            SUBSALT_CHECK(feeds_.back()->rows.open(rows, room_rows, 1));
        } else {
            taps_.emplace_back(new Tap{points, s.nt, {}});
            SUBSALT_CHECK(taps_.back()->rows.open(rows, room_rows, 1));
        }
    }
    SUBSALT_CHECK(open_samples(work));
    if (work.shells != nullptr) SUBSALT_CHECK(open_shells(*work.shells, work.series_bytes));
    if (work.inner != nullptr) inner_ = box_of(work.inner, work.inner + 3);
    return cudaSuccess;
}

Status DeviceSegment::open_samples(const SubsaltCudaWork& work) {
    HostRows copies, partners;
    // rows of one size; arrays of other sizes have no place in the buffers
    const auto add = [](HostRows& rows, const float* p, Index bytes) {
        const bool fits = rows.each.empty() || rows.bytes == bytes;
        rows.bytes = bytes;
        rows.each.push_back(reinterpret_cast<char*>(const_cast<float*>(p)));
        rows.count = static_cast<Index>(rows.each.size());
        return fits;
    };
    for (Index i = 0; i < work.n_samples; ++i) {
        const SubsaltCudaSample& s = work.samples[i];
        const Box box = box_of(s.lo, s.hi);
        Index bytes = 4;
        for (int a = 0; a < 3; ++a)
            bytes *= std::max<Index>(0, box.hi[a] - box.lo[a]);
        if (bytes == 0) continue;
        Visit v{{s.it, box, s.copy, s.energy, s.partner, s.image, s.scale}, -1, -1};
        if (s.copy != nullptr && memory_of(s.copy) != Memory::device) {
            v.copy = copies.count;
            if (!add(copies, s.copy, bytes)) return cudaErrorInvalidValue;
        }
        if (s.partner != nullptr && memory_of(s.partner) != Memory::device) {
            v.partner = partners.count;
            partner_times_.push_back(s.it);
            if (!add(partners, s.partner, bytes)) return cudaErrorInvalidValue;
        }
        visits_.push_back(v);
    }
    if (copies.count > 0) SUBSALT_CHECK(copies_.open(std::move(copies), 1, 1));
    if (partners.count > 0) SUBSALT_CHECK(partners_.open(std::move(partners), 1, 1));
    return cudaSuccess;
}

Status DeviceSegment::open_shells(const SubsaltCudaShells& asked, Index buffer) {
    shells_ = Shells{shell_of(asked.lo, asked.hi, asked.width),
                     asked.data,
                     asked.rows,
                     asked.first,
                     asked.direction,
                     asked.put_back != 0};
    const Index bytes = 4 * plan_.pb.fields * shells_->shell.cells;
    if (bytes == 0 || asked.rows == 0) {
        shells_.reset();
        return cudaSuccess;
    }
    shells_travel_ = memory_of(asked.data) != Memory::device;
    if (!shells_travel_) return cudaSuccess;
    const HostRows rows{bytes, reinterpret_cast<char*>(asked.data), asked.rows, {}};
    const Index room = rows_at_once(buffer, rows);
    return shells_->put_back ? put_back_.open(rows, room, asked.direction) : kept_.open(rows, room, asked.direction);
}

Status DeviceSegment::shells(float* const* made, Index it, bool put_back, Index until) {
    if (!shells_ || shells_->put_back != put_back) return cudaSuccess;
    const Shells& s = *shells_;
    const auto row_of = [&s](Index t) { return (t - s.first) * s.direction; };
    const Index row = row_of(it);
    if (row < 0 || row >= s.rows) return cudaSuccess;
    const Index floats = plan_.pb.fields * s.shell.cells;
    float* record = s.data + row * floats;
    if (put_back) {
        const float* from = record;
        const Index limit = std::clamp(row_of(until), Index{0}, s.rows - 1);
        if (shells_travel_) SUBSALT_CHECK(put_back_.take(row, limit, &from));
        return put_back_shell(plan_.pb, made, s.shell, from, context().compute);
    }
    if (shells_travel_) SUBSALT_CHECK(kept_.give(row, &record));
    return keep_shell(plan_.pb, made, s.shell, record, context().compute);
}

Status DeviceSegment::visit(const Visit& v, float* const* made, Index until) {
    const Problem& pb = plan_.pb;
    const cudaStream_t compute = context().compute;
    const Sample& s = v.sample;
    if (s.copy != nullptr) {
        float* out = s.copy;
        if (v.copy >= 0) SUBSALT_CHECK(copies_.give(v.copy, &out));
        SUBSALT_CHECK(snapshot(pb, made, out, s.box, compute));
        if (v.copy >= 0) SUBSALT_CHECK(copies_.close());
        ++counters().snapshots;
    }
    if (s.energy != nullptr) SUBSALT_CHECK(energy(pb, s.energy, made, s.box, s.scale, compute));
    if (s.image == nullptr) return cudaSuccess;
    const float* u = s.partner;
    if (v.partner >= 0) {
        const auto behind = std::upper_bound(partner_times_.begin(), partner_times_.end(), until);
        SUBSALT_CHECK(partners_.take(v.partner, behind - partner_times_.begin() - 1, &u));
    }
    return correlate(pb, s.image, u, made, s.box, s.scale, compute);
}

Status DeviceSegment::part(const Levels& levels, Index it, const Box* memory, const Box* boxes, int n_boxes, bool last,
                           Index until) {
    const DeviceProblem& pb = plan_.pb;
    const cudaStream_t compute = context().compute;
    if (memory != nullptr) SUBSALT_CHECK(memory_step(pb, levels, *memory, compute));
    for (int i = 0; i < n_boxes; ++i)
        SUBSALT_CHECK(field_step(pb, levels, boxes[i], plan_.tuning, compute));
    float* const* made = levels.prev;
    for (const auto& feed : feeds_) {
        if (it >= feed->nt) continue;
        const float* values = nullptr;
        // the last row that is asked for is that of the step to `until`
        SUBSALT_CHECK(feed->rows.take(it, std::clamp(until - 1, it, feed->nt - 1), &values));
        SUBSALT_CHECK(inject(pb, made, *feed->points, values, compute));
    }
    SUBSALT_CHECK(shells(made, it + 1, true, until));
    if (!last) return cudaSuccess;
    ++counters().steps;
    SUBSALT_CHECK(shells(made, it + 1, false, until));
    for (const auto& tap : taps_) {
        if (it + 1 >= tap->nt) continue;
        float* out = nullptr;
        SUBSALT_CHECK(tap->rows.give(it + 1, &out));
        SUBSALT_CHECK(record(pb, made, *tap->points, out, compute));
    }
    const auto first = std::lower_bound(visits_.begin(), visits_.end(), it + 1,
                                        [](const Visit& v, Index t) { return v.sample.it < t; });
    for (auto v = first; v != visits_.end() && v->sample.it == it + 1; ++v)
        SUBSALT_CHECK(visit(*v, made, until));
    return cudaSuccess;
}

Status DeviceSegment::look(float* const* fields, bool* finite) {
    const cudaStream_t compute = context().compute;
    int *const there = static_cast<int*>(flag().device), *const here = static_cast<int*>(flag().host);
    SUBSALT_CHECK(cudaMemsetAsync(there, 0, sizeof(int), compute));
    SUBSALT_CHECK(look_for_infinite(plan_.pb, fields, there, compute));
    SUBSALT_CHECK(copy_async(here, there, sizeof(int), cudaMemcpyDeviceToHost, compute));
    SUBSALT_CHECK(cudaStreamSynchronize(compute));
    *finite = *here == 0;
    return cudaSuccess;
}

/// Whether these steps leave out what the wavefield has not reached: shells put back numbers in places that nothing has
/// to reach.
bool DeviceSegment::leaves_out(const SubsaltCudaSteps& steps) const {
    return steps.front != 0 && !inner_ && !(shells_ && shells_->put_back);
}

Status DeviceSegment::find_front(const Levels& levels, Index it) {
    Box fed{};
    for (const auto& feed : feeds_)
        if (it < feed->nt) fed = joined(fed, touched_by_points(*feed->points));
    return reached_.find(plan_.pb, levels, it, fed);
}

Status DeviceSegment::run(Levels levels, SubsaltCudaSteps* steps) {
    const DeviceProblem& pb = plan_.pb;
    const Box whole{{0, 0, 0}, {pb.n[0], pb.n[1], pb.n[2]}};
    Box box = inner_ ? *inner_ : whole;
    const Box* const memory = inner_ || pb.boundary != Boundary::pml ? nullptr : &box;
    const bool front = leaves_out(*steps);
    Index it = steps->it;
    bool finite = true;
    steps->done = steps->points = 0;
    if (front && (steps->anew != 0 || !reached_.is_at(it))) SUBSALT_CHECK(find_front(levels, it));
    while (finite && steps->done < steps->steps) {
        if (front) SUBSALT_CHECK(reached_.step(pb, levels, steps->front, &box));
        SUBSALT_CHECK(part(levels, it, memory, &box, 1, true, steps->until));
        for (int f = 0; f < pb.fields; ++f)
            std::swap(levels.prev[f], const_cast<float*&>(levels.curr[f]));
        ++it;
        ++steps->done;
        steps->points += points_of(box);
        if (it % steps->finite_every == 0 || (steps->check_last != 0 && steps->done == steps->steps)) {
            float* const newest[2] = {const_cast<float*>(levels.curr[0]), const_cast<float*>(levels.curr[1])};
            SUBSALT_CHECK(look(newest, &finite));
        }
    }
    steps->finite = finite;
    steps->whole = front && reached_.whole();
    return cudaStreamSynchronize(context().compute);
}

Status DeviceSegment::finish() {
    // in the order of the work asked for; the first error is the one that is said
    for (const auto& tap : taps_)
        SUBSALT_CHECK(tap->rows.finish());
    SUBSALT_CHECK(copies_.finish());
    SUBSALT_CHECK(kept_.finish());
    for (const auto& feed : feeds_)
        SUBSALT_CHECK(feed->rows.finish());
    SUBSALT_CHECK(partners_.finish());
    SUBSALT_CHECK(put_back_.finish());
    return cudaStreamSynchronize(context().compute);
}

} // namespace subsalt::cuda

using namespace subsalt;
using namespace subsalt::cuda;

namespace {

DeviceSegment& segment_of(void* segment) {
    return *static_cast<DeviceSegment*>(segment);
}

} // namespace

int subsalt_cuda_segment(const void* plan, const SubsaltCudaWork* work, void** out) {
    *out = nullptr;
    return entered("preparing time steps", [&]() -> Status {
        auto made = std::make_unique<DeviceSegment>(plan_of(plan));
        SUBSALT_CHECK(made->open(*work));
        *out = made.release();
        return cudaSuccess;
    });
}

int subsalt_cuda_free_segment(void* segment) {
    enter_to_free();
    delete static_cast<DeviceSegment*>(segment);
    return 0;
}

int subsalt_cuda_segment_run(void* segment, void* const levels[13], SubsaltCudaSteps* steps) {
    return entered("advancing the wavefield", [&] { return segment_of(segment).run(levels_of(levels), steps); });
}

int subsalt_cuda_segment_part(void* segment, void* const levels[13], int64_t it, const int64_t* memory,
                              const int64_t* boxes, int32_t n, int32_t last, int64_t until) {
    const Box psi = memory != nullptr ? box_of(memory, memory + 3) : Box{};
    std::vector<Box> parts;
    for (int i = 0; i < n; ++i)
        parts.push_back(box_of(boxes + 6 * i, boxes + 6 * i + 3));
    return entered("advancing a part of the wavefield", [&] {
        return segment_of(segment).part(levels_of(levels), it, memory != nullptr ? &psi : nullptr, parts.data(), n,
                                        last != 0, until);
    });
}

int subsalt_cuda_segment_finish(void* segment) {
    return entered("bringing results to the host", [&] { return segment_of(segment).finish(); });
}

int subsalt_cuda_counters(int64_t out[5]) {
    const Counters& c = counters();
    out[0] = c.steps, out[1] = c.launches, out[2] = c.to_device, out[3] = c.to_host, out[4] = c.snapshots;
    return 0;
}

int subsalt_cuda_tunings(const void* plan, int32_t* pairs, int32_t most, int32_t* count) {
    const DevicePlan& p = plan_of(plan);
    std::vector<Tuning> found(static_cast<std::size_t>(most), p.tuning);
    *count = most < 1 ? 0 : std::max(1, tunings(p.pb, found.data(), most));
    for (int i = 0; i < *count; ++i)
        pairs[2 * i] = found[i].rows, pairs[2 * i + 1] = found[i].planes;
    return 0;
}

int subsalt_cuda_tune(void* plan, int32_t rows, int32_t planes) {
    static_cast<DevicePlan*>(plan)->tuning = {rows, planes};
    return 0;
}
