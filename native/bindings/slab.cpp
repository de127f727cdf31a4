// Binding of the passes on a slab: what is done between two messages in one call, the GIL released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "work.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace subsalt;

namespace {

/// Points, length of the series, and what every plane adds to the samples of a pass (steps, n, width).
using ShareArgument = std::tuple<nb::object, Index, nb::object>;
/// Planes of one step: field from, to; Psi from, to.
using PlanesArgument = std::array<Index, 4>;

/// Pieces of passes with what goes in and comes out; the arguments that stay the same are prepared once.
class SlabPasses {
public:
    SlabPasses(nb::object plan, std::vector<FeedArgument> sources, std::vector<ShareArgument> recorders,
               std::vector<SampleArgument> samples, std::array<Index, 3> asked, int threads, const std::string& isa,
               std::optional<ShellsArgument> shells, const std::optional<BoxArgument>& inner, int slow)
        : keep_(plan), plan_(nb::cast<const Plan&>(plan)), table_(table_of(isa, threads)), sources_(std::move(sources)),
          recorders_(std::move(recorders)), samples_(std::move(samples)), shells_(std::move(shells)),
          work_(plan_, sources_, {}, samples_), partly_(plan_, shells_, inner) {
        const Cut cut = cut_of(asked);
        if (plan_.pb.medium == Medium::tti) throw std::invalid_argument("TTI has no passes");
        for (const auto& [points, nt, array] : recorders_) {
            const auto& set = nb::cast<const PointSet&>(points);
            set.check(plan_);
            const auto shares = as_it_is<PlainArray>(array, "recorded shares");
            if (static_cast<Index>(shares.shape(0)) < cut.depth || static_cast<Index>(shares.shape(1)) != set.pts.n ||
                static_cast<Index>(shares.shape(2)) != set.pts.width)
                throw std::invalid_argument("recorded shares do not have the shape (depth, points, width)");
            work_.taps.push_back({&set.pts, nullptr, nt, shares.data()});
        }
        seg_ = {{},
                0,
                0,
                work_.feeds.data(),
                static_cast<Index>(work_.feeds.size()),
                work_.taps.data(),
                static_cast<Index>(work_.taps.size()),
                work_.samples.data(),
                static_cast<Index>(work_.samples.size()),
                cut,
                threads};
        seg_.slow = slow;
        partly_.enter(seg_);
        tiling_ = table_.tiling(plan_.pb, seg_);
    }

    Index tiles() const { return tiling_.count; }
    Index depth() const { return tiling_.depth; }

    /// The levels of a pass of some steps from time index `it`, at which curr stands.
    void begin(std::vector<Padded> prev, std::vector<Padded> curr, std::vector<PlainArray> memory, Index it,
               Index steps) {
        if (it < 0 || steps < 1 || steps > tiling_.depth) throw std::invalid_argument("the pass is not possible");
        seg_.even = levels_of(plan_, prev, curr, memory);
        seg_.it = it;
        seg_.steps = steps;
        prev_ = std::move(prev), curr_ = std::move(curr), memory_ = std::move(memory);
    }

    /// Do steps `first`, first + 1, ... of the pass in their planes, in the tiles and the planes of step `first` given.
    void run(Index first, const std::vector<PlanesArgument>& planes, std::array<Index, 2> tiles,
             std::array<Index, 2> range, int threads) const {
        const Index count = static_cast<Index>(planes.size()), nx = plan_.pb.n[0];
        if (first < 0 || count < 1 || first + count > seg_.steps) throw std::invalid_argument("no such steps");
        if (tiles[0] < 0 || tiles[1] > tiling_.count) throw std::invalid_argument("no such tiles");
        if (threads < 1 || threads > seg_.threads) throw std::invalid_argument("no such threads");
        if (tiles[0] >= tiles[1]) return;
        Piece piece{first, count, {}, tiles[0], tiles[1], range[0], range[1], threads};
        for (Index k = 0; k < count; ++k) {
            const auto& [lo, hi, psi_lo, psi_hi] = planes[static_cast<std::size_t>(k)];
            if (lo < 0 || hi > nx || psi_lo < 0 || psi_hi > nx) throw std::invalid_argument("planes leave the grid");
            piece.planes[k] = {{lo, hi}, {psi_lo, psi_hi}};
        }
        nb::gil_scoped_release release;
        table_.piece(plan_.pb, seg_, piece);
    }

private:
    nb::object keep_;
    const Plan& plan_;
    const Table& table_;
    std::vector<FeedArgument> sources_; // these keep the arrays that work_ points into
    std::vector<ShareArgument> recorders_;
    std::vector<SampleArgument> samples_;
    std::optional<ShellsArgument> shells_;
    Work work_;
    Partly partly_;
    Segment seg_{};
    Tiling tiling_{};
    std::vector<Padded> prev_, curr_;
    std::vector<PlainArray> memory_;
};

/// Samples from the shares of their planes, added in the order of x: of the steps that made `it` + 1 and the following.
void add_shares(const PointSet& set, const nb::object& shares_array, const nb::object& data_array, Index it,
                Index steps, const std::string& isa) {
    const auto shares = as_it_is<PlainArray>(shares_array, "recorded shares");
    const auto data = as_it_is<Series>(data_array, "recorded data");
    const Points& pts = set.pts;
    const Index nt = static_cast<Index>(data.shape(0));
    if (static_cast<Index>(shares.shape(0)) < steps || static_cast<Index>(shares.shape(1)) != pts.n ||
        static_cast<Index>(shares.shape(2)) != pts.width || static_cast<Index>(data.shape(1)) != pts.n)
        throw std::invalid_argument("shares and data belong to other points");
    const Index kept = std::min(steps, nt - (it + 1));
    const Table& k = table_of(isa, 1);
    nb::gil_scoped_release release;
    if (kept > 0) k.add_shares(pts, shares.data(), data.data() + (it + 1) * pts.n, kept);
}

} // namespace

void bind_slab(nb::module_& m) {
    nb::class_<SlabPasses>(m, "SlabPasses", "Pieces of the passes over a slab.")
        .def(nb::init<nb::object, std::vector<FeedArgument>, std::vector<ShareArgument>, std::vector<SampleArgument>,
                      std::array<Index, 3>, int, const std::string&, std::optional<ShellsArgument>,
                      const std::optional<BoxArgument>&, int>(),
             "plan"_a, "sources"_a, "recorders"_a, "samples"_a, "cut"_a, "threads"_a, "isa"_a, "shells"_a.none(),
             "inner"_a.none(), "slow"_a)
        .def_prop_ro("tiles", &SlabPasses::tiles, "Tiles along y.")
        .def_prop_ro("depth", &SlabPasses::depth, "Steps that a pass may have: fewer where layers of y leave no room.")
        .def("begin", &SlabPasses::begin, "prev"_a.noconvert(), "curr"_a.noconvert(), "memory"_a.noconvert(), "it"_a,
             "steps"_a, "Begin a pass of some steps: `curr` stands at time index `it`, and `prev` takes the next.")
        .def("run", &SlabPasses::run, "first"_a, "planes"_a, "tiles"_a, "range"_a, "threads"_a,
             "Do steps `first`, first + 1, ... in their planes (field from, to; Psi from, to), in some tiles; `range`: "
             "the planes of step `first` at which a sweep goes on and pauses.");
    m.def("add_shares", &add_shares, "points"_a, "shares"_a, "data"_a, "it"_a, "steps"_a, "isa"_a,
          "Samples from the shares of their planes, added in the order of x, of the steps after time index `it`.");
}
