// The plain C interface of the CUDA plug-in. Every function returns 0, a CUDA error number, or one of its own; what it
// means says subsalt_cuda_message(). Sizes and indices are 64-bit. Nothing here throws, and nothing crashes without a
// driver.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SUBSALT_CUDA_API __attribute__((visibility("default")))

/// Changes with every change of this file or of the structs behind its pointers.
#define SUBSALT_CUDA_ABI 4

/// Page-locked memory of the host cannot be had. CUDA has one number for this and for too little memory on the device.
#define SUBSALT_CUDA_NO_LOCKED_MEMORY 10001

typedef struct {
    char name[128];
    int64_t memory; // bytes
    int32_t major, minor, processors, integrated;
    char bus[32]; // PCI address, and the beginning of the UUID
} SubsaltCudaFacts;

// The plug-in and its devices
SUBSALT_CUDA_API int subsalt_cuda_abi(void);
SUBSALT_CUDA_API const char* subsalt_cuda_version(void);                       // of the package it was built from
SUBSALT_CUDA_API int subsalt_cuda_emulated(void);                              // 1: the test instrument, not a GPU
SUBSALT_CUDA_API const char* subsalt_cuda_message(void);                       // of the last error of this thread
SUBSALT_CUDA_API int subsalt_cuda_versions(int32_t* driver, int32_t* runtime); // 13000 is 13.0; driver 0: none
SUBSALT_CUDA_API int subsalt_cuda_count(int32_t* count);
SUBSALT_CUDA_API int subsalt_cuda_facts(int32_t device, SubsaltCudaFacts* facts);
SUBSALT_CUDA_API int subsalt_cuda_use(int32_t device); // makes its streams; once per process

// Memory
SUBSALT_CUDA_API int subsalt_cuda_free_memory(int64_t* free_bytes, int64_t* total);
SUBSALT_CUDA_API int subsalt_cuda_allocate(void** out, int64_t bytes, int32_t zeroed);
SUBSALT_CUDA_API int subsalt_cuda_release(void* p);
SUBSALT_CUDA_API int subsalt_cuda_allocate_host(void** out, int64_t bytes); // page-locked
SUBSALT_CUDA_API int subsalt_cuda_release_host(void* p);
/// Memory that somebody else has allocated, page-locked until it is unlocked, which must come before it is freed.
SUBSALT_CUDA_API int subsalt_cuda_lock_host(void* p, int64_t bytes);
SUBSALT_CUDA_API int subsalt_cuda_unlock_host(void* p);
/// Bytes that this process has now, and had at most: on the device, page-locked on the host.
SUBSALT_CUDA_API int subsalt_cuda_allocated(int64_t* device, int64_t* device_peak, int64_t* host, int64_t* host_peak);
/// After all work so far; returns when done. Any direction.
SUBSALT_CUDA_API int subsalt_cuda_copy(void* to, const void* from, int64_t bytes);
SUBSALT_CUDA_API int subsalt_cuda_zero(void* p, int64_t bytes);
SUBSALT_CUDA_API int subsalt_cuda_synchronize(void);

// What the device gives at best: seconds of each of `rounds`. kind 0: a copy in its memory by a kernel, 1: from the
// host's page-locked memory, 2: to it, 3: a copy in its memory by the runtime; of an empty kernel among `launches`.
SUBSALT_CUDA_API int subsalt_cuda_measure_copy(int64_t bytes, int32_t rounds, int32_t kind, double* seconds);
SUBSALT_CUDA_API int subsalt_cuda_measure_launch(int32_t launches, int32_t rounds, double* seconds);

// What the device makes of arithmetic (arithmetic.cu): n results of one kind; all arrays on the device, null where the
// kind does not read them.
SUBSALT_CUDA_API int subsalt_cuda_arithmetic(int32_t kind, const float* a, const float* b, const float* c, float* out,
                                             int64_t n);

// Plans: `problem` is a host subsalt::Problem of `size` bytes; model arrays on the device: m, e, s (float32, or 16-bit
// when the problem says so), then the axis x, y, z; null where the medium has none.
SUBSALT_CUDA_API int subsalt_cuda_plan(const void* problem, int64_t size, const void* const model[6], void** plan);
SUBSALT_CUDA_API int subsalt_cuda_free_plan(void* plan);
// Points: `points` is a host subsalt::Points of `size` bytes.
SUBSALT_CUDA_API int subsalt_cuda_points(const void* plan, const void* points, int64_t size, void** out);
SUBSALT_CUDA_API int subsalt_cuda_free_points(void* points);

// Steps. levels: prev[2], curr[2], psi[3], zeta[3], zeta2[3] (null where there is none), as in subsalt::Levels.
SUBSALT_CUDA_API int subsalt_cuda_memory_step(const void* plan, void* const levels[13], const int64_t lo[3],
                                              const int64_t hi[3]);
SUBSALT_CUDA_API int subsalt_cuda_field_step(const void* plan, void* const levels[13], const int64_t lo[3],
                                             const int64_t hi[3]);
SUBSALT_CUDA_API int subsalt_cuda_apply_l(const void* plan, void* const fields[2], void* const out[2],
                                          const int64_t lo[3], const int64_t hi[3]);

// Points: values and out on the host, (n)
SUBSALT_CUDA_API int subsalt_cuda_inject(const void* plan, void* const fields[2], const void* points,
                                         const float* values);
SUBSALT_CUDA_API int subsalt_cuda_record(const void* plan, void* const fields[2], const void* points, float* out);
SUBSALT_CUDA_API int subsalt_cuda_record_shares(const void* plan, void* const fields[2], const void* points,
                                                float* out);

// Imaging: arrays on the device
SUBSALT_CUDA_API int subsalt_cuda_snapshot(const void* plan, void* const fields[2], float* out, const int64_t lo[3],
                                           const int64_t hi[3]);
SUBSALT_CUDA_API int subsalt_cuda_correlate(const void* plan, float* image, const float* u, void* const fields[2],
                                            const int64_t lo[3], const int64_t hi[3], float scale);
SUBSALT_CUDA_API int subsalt_cuda_square(float* image, const float* u, int64_t n, float scale);
SUBSALT_CUDA_API int subsalt_cuda_product(float* image, const float* u, const float* w, int64_t n, float scale);
SUBSALT_CUDA_API int subsalt_cuda_is_finite(const void* plan, void* const fields[2], int32_t* finite);
SUBSALT_CUDA_API int subsalt_cuda_shell(const void* plan, void* const fields[2], const int64_t lo[3],
                                        const int64_t hi[3], const int64_t width[6], float* record, int32_t put_back);

// Ghost planes of a time level (halo.cu): `n` blocks each way, on the device. They go through `..._host`, page-locked;
// null when MPI reaches the device itself. To exchange: leave, MPI once `left`, arrive.
SUBSALT_CUDA_API int subsalt_cuda_halo(int32_t n, void* const* sent, void* const* received, void* const* sent_host,
                                       void* const* received_host, const int64_t* sent_bytes,
                                       const int64_t* received_bytes, void** out);
SUBSALT_CUDA_API int subsalt_cuda_halo_leave(void* halo);
SUBSALT_CUDA_API int subsalt_cuda_halo_left(void* halo, int32_t* left);
SUBSALT_CUDA_API int subsalt_cuda_halo_arrive(void* halo);
SUBSALT_CUDA_API int subsalt_cuda_free_halo(void* halo);

// Kirchhoff time migration: the sum of one block of locations. `medium` and `rules` are a host
// subsalt::KirchhoffMedium and KirchhoffRules of these bytes; all arrays are on the host.
typedef struct {
    const double* points; // (locations, 2)
    float* image;         // (locations, classes, nt)
    int32_t *hits, *fold; // (locations, nt + 1), (locations, groups)
    int64_t classes, groups;
} SubsaltCudaKirchhoffImage;
typedef struct {
    int64_t n, bands, order, ns, ns_pad;
    const float* samples;             // (n, bands, order + 1, ns_pad)
    const double *integrals, *slopes; // (n, ns_pad), or null
    float first;
    const double *src, *rcv;     // (n, 2)
    const float* weight;         // (n)
    const int32_t *slot, *group; // (n)
} SubsaltCudaTraces;
SUBSALT_CUDA_API int subsalt_cuda_kirchhoff_open(const void* medium, int64_t medium_size, const void* rules,
                                                 int64_t rules_size, const SubsaltCudaKirchhoffImage* image,
                                                 void** sum);
/// Page-locked memory of the host for the samples of the next block of traces, once nobody reads it any more; `sizes`
/// has its numbers, and `integrals` not null where it will have some.
SUBSALT_CUDA_API int subsalt_cuda_kirchhoff_room(void* sum, const SubsaltCudaTraces* sizes, void** memory);
/// Returns before the traces are summed; contributions: of the blocks of traces that are known to be done.
SUBSALT_CUDA_API int subsalt_cuda_kirchhoff_add(void* sum, const SubsaltCudaTraces* traces, int64_t* contributions);
SUBSALT_CUDA_API int subsalt_cuda_kirchhoff_fetch(void* sum, float* image, int32_t* hits, int32_t* fold,
                                                  int64_t* contributions);
SUBSALT_CUDA_API int subsalt_cuda_kirchhoff_close(void* sum);

// Segments (segment.cu): many steps, with what goes in and comes out. Pointers that are not on the device are on the
// host, page-locked or not; sums (energy, image) are on the device. What it points to must outlive a segment.
typedef struct {
    const void* points; // null where there are none
    float* series;      // on the host, (nt, n): samples, or recorded data
    int64_t nt;
} SubsaltCudaSeries;

typedef struct {
    int64_t it; // ascending
    int64_t lo[3], hi[3];
    float *copy, *energy; // null: left out
    const float* partner;
    float* image;
    float scale;
    int32_t unused;
} SubsaltCudaSample;

typedef struct {
    int64_t lo[3], hi[3], width[6];
    int64_t rows, first;
    int32_t direction, put_back;
    float* data; // (rows, fields, cells)
} SubsaltCudaShells;

typedef struct {
    const SubsaltCudaSeries* feeds;
    int64_t n_feeds;
    const SubsaltCudaSeries* taps;
    int64_t n_taps;
    const SubsaltCudaSample* samples;
    int64_t n_samples;
    const SubsaltCudaShells* shells; // null: none
    const int64_t* inner;            // null, or lo and hi of what alone is advanced
    int64_t series_bytes;            // of a buffer through which rows of samples, records and shells travel
} SubsaltCudaWork;

SUBSALT_CUDA_API int subsalt_cuda_segment(const void* plan, const SubsaltCudaWork* work, void** out);
SUBSALT_CUDA_API int subsalt_cuda_free_segment(void* segment);
typedef struct {
    int64_t it, steps; // from time index `it`
    int64_t until;     // what the host holds for time indices up to it may be read ahead
    int64_t finite_every;
    int32_t check_last;
    int32_t front; // 0: everything is advanced; else how many steps after a look at how far the wavefield has come
                   // there is another, and what it has not reached is left out
    int32_t anew;  // the first look is at everything, as after steps of others
    int32_t finite, whole; // out: whether it is finite; whether nothing is worth leaving out any more
    int32_t unused;
    int64_t done, points; // out: steps done, fewer when the field is not finite; points advanced in all of them
} SubsaltCudaSteps;
/// Returns when the steps are done.
SUBSALT_CUDA_API int subsalt_cuda_segment_run(void* segment, void* const levels[13], SubsaltCudaSteps* steps);
/// Part of the step from `it`, asked for and not waited for: Psi in `memory` (6 numbers lo, hi; null: nowhere), the
/// next level in n boxes (6 numbers each), what is injected and put back; with `last` what is done with that level.
SUBSALT_CUDA_API int subsalt_cuda_segment_part(void* segment, void* const levels[13], int64_t it, const int64_t* memory,
                                               const int64_t* boxes, int32_t n, int32_t last, int64_t until);
/// Returns when everything that comes out is on the host, and nothing of the host is read any more.
SUBSALT_CUDA_API int subsalt_cuda_segment_finish(void* segment);
/// How field_step of a plan is cut from now on (Tuning of kernels.hpp).
SUBSALT_CUDA_API int subsalt_cuda_tune(void* plan, int32_t rows, int32_t planes);
/// Tunings worth trying, the usual one first: rows and planes of each, at most `most`.
SUBSALT_CUDA_API int subsalt_cuda_tunings(const void* plan, int32_t* pairs, int32_t most, int32_t* count);
/// Of this process so far: steps, launches, bytes to the device, bytes to the host, snapshots.
SUBSALT_CUDA_API int subsalt_cuda_counters(int64_t out[5]);

#ifdef __cplusplus
}
#endif
