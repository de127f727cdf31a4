// Memory for wavefields and models.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

namespace subsalt {

/// A float32 array as a NumPy array that owns it: zeroed, or with every page there and contents left open.
nanobind::ndarray<nanobind::numpy, float> allocate(const std::vector<std::size_t>& shape, int threads, bool zeroed);

/// Copy an array into another one of the same size, in pieces by all threads.
void copy(const nanobind::ndarray<float, nanobind::c_contig, nanobind::device::cpu>& target,
          const nanobind::ndarray<const float, nanobind::c_contig, nanobind::device::cpu>& source, int threads);

/// Let every large array of the process go back to the system when it is freed.
void return_large_arrays();

} // namespace subsalt
