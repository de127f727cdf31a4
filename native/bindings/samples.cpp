// Python face of the bytes of SEG-Y samples. What would read or write out of bounds is refused here.
#include "signal/decode_samples.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Bytes = nb::ndarray<const uint8_t, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In = nb::ndarray<const T, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<int32_t, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<float, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;

void decode_traces(Bytes raw, In<int64_t> at, std::optional<In<int32_t>> late, int64_t ns, int code, bool big,
                   bool zero_bad, Rows out, Counts bad) {
    const auto n = static_cast<int64_t>(out.shape(0)), nt = static_cast<int64_t>(out.shape(1));
    const auto size = static_cast<int64_t>(raw.size());
    const int64_t width = subsalt::signal::sample_bytes(code);
    if (static_cast<int64_t>(at.size()) != n || static_cast<int64_t>(bad.size()) != n ||
        (late && static_cast<int64_t>(late->size()) != n))
        throw std::invalid_argument("decode_traces: arrays differ in the number of traces");
    if (width == 0 || ns < 0 || ns > size / width)
        throw std::invalid_argument("decode_traces: samples beyond the bytes");
    for (int64_t i = 0; i < n; ++i) {
        const int64_t begin = late ? late->data()[i] : 0;
        if (at.data()[i] < 0 || at.data()[i] > size - ns * width || begin < 0 || begin > nt - ns)
            throw std::invalid_argument("decode_traces: a trace reaches beyond its bytes or its row");
    }
    const subsalt::signal::SampleRows rows{raw.data(), at.data(), late ? late->data() : nullptr, n, ns, nt};
    float* to = out.data();
    int32_t* wrong = bad.data();
    nb::gil_scoped_release release;
    subsalt::signal::decode_samples(rows, code, big, zero_bad, to, wrong);
}

} // namespace

void bind_samples(nb::module_& m) {
    m.def("decode_traces", &decode_traces, "raw"_a.noconvert(), "at"_a.noconvert(), "late"_a.none(), "ns"_a, "code"_a,
          "big"_a, "zero_bad"_a, "out"_a.noconvert(), "bad"_a.noconvert());
}
