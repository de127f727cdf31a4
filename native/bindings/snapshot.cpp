// Bindings of the threads that write and read snapshots. Waiting and stopping release the GIL; the threads never need
// it, and a buffer lives as long as a transfer or an array that uses it.
#include "snapshot/crc32c.hpp"
#include "snapshot/pool.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;
using namespace subsalt;

namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::ndarray<nb::numpy, std::uint8_t> bytes_of(const std::shared_ptr<Buffer>& buffer) {
    auto* const held = new std::shared_ptr<Buffer>(buffer);
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::shared_ptr<Buffer>*>(p); });
    const std::size_t shape[1] = {static_cast<std::size_t>(buffer->bytes)};
    return nb::ndarray<nb::numpy, std::uint8_t>(buffer->data, 1, shape, owner);
}

std::shared_ptr<Transfer> submit(Pool& pool, int fd, std::int64_t offset, const std::shared_ptr<Buffer>& buffer,
                                 std::int64_t payload, std::int64_t block, bool write, bool direct,
                                 std::uint64_t sequence, bool urgent) {
    auto t = std::make_shared<Transfer>();
    t->fd = fd;
    t->offset = offset;
    t->buffer = buffer;
    t->layout = {payload, block};
    t->write = write;
    t->direct = direct;
    t->sequence = sequence;
    pool.submit(t, urgent);
    return t;
}

} // namespace

void bind_snapshot(nb::module_& parent) {
    nb::module_ m = parent.def_submodule("scratch", "Threads that write and read snapshots.");
    m.def(
        "crc32c",
        [](const Bytes& data, std::uint32_t crc, const std::string& way) {
            nb::gil_scoped_release release;
            return way.empty() ? crc32c(data.data(), data.size(), crc) : crc32c_by(way, data.data(), data.size(), crc);
        },
        "data"_a, "crc"_a = 0, "way"_a = "", "CRC-32C of bytes; crc is that of the bytes before them.");
    m.def("crc32c_ways", &crc32c_ways, "The ways to compute it that this processor has, the fastest first.");

    nb::class_<Buffer>(m, "Buffer")
        .def(nb::init<std::int64_t>(), "bytes"_a)
        .def_prop_ro("bytes", &bytes_of, nb::rv_policy::automatic, "The memory, as an array that keeps it.");
    nb::class_<Outcome>(m, "Outcome")
        .def_ro("moved", &Outcome::moved)
        .def_ro("seconds", &Outcome::seconds)
        .def_ro("error", &Outcome::error)
        .def_ro("offset", &Outcome::offset)
        .def_prop_ro("damage", [](const Outcome& o) { return static_cast<int>(o.damage); })
        .def_ro("block", &Outcome::block);
    nb::class_<Transfer>(m, "Transfer")
        .def_ro("writes", &Transfer::write)
        .def_prop_ro("outcome", [](const Transfer& t) { return t.outcome; }, "To be asked when it is over.");
    nb::class_<Pool>(m, "Pool")
        .def(nb::init<int, bool>(), "threads"_a, "checksums"_a)
        .def("submit", &submit, "fd"_a, "offset"_a, "buffer"_a, "payload"_a, "block"_a, "write"_a, "direct"_a,
             "sequence"_a, "urgent"_a)
        .def(
            "wait",
            [](Pool& pool, const Transfer& t, double seconds) {
                if (seconds <= 0.0) return pool.wait(t, 0.0);
                nb::gil_scoped_release release;
                return pool.wait(t, seconds);
            },
            "transfer"_a, "seconds"_a)
        .def("stop", &Pool::stop, nb::call_guard<nb::gil_scoped_release>());

    m.def("reserve_at", &reserve_at, "fd"_a, "offset"_a, "n"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Ask the file system for room; return errno, 0 when it is there or cannot be reserved.");
    m.def(
        "set_faults",
        [](std::int64_t fail_at, int error, bool forever, std::int64_t most, std::int64_t every, bool reads,
           bool writes, double wait) {
            Faults f;
            f.fail_at = fail_at;
            f.error = error;
            f.forever = forever;
            f.most = most;
            f.every = every;
            f.reads = reads;
            f.writes = writes;
            f.wait = wait;
            set_faults(&f);
        },
        "fail_at"_a = 0, "error"_a = 0, "forever"_a = false, "most"_a = 0, "every"_a = 0, "reads"_a = true,
        "writes"_a = true, "wait"_a = 0.0, "Failures of positioned reads and writes, for tests.");
    m.def("clear_faults", [] { set_faults(nullptr); });
    m.def("fault_calls", &fault_calls);
    m.def("fault_hits", &fault_hits);
}
