// The kernels whose machine code benchmarks/device_code.py reads: those of 3-D that take the time of a job. Compiled by
// nvcc into a program that asks no GPU for anything: it carries their machine code, and prints of each a part of its
// symbol, its name here, the threads of a block and the bytes of dynamic shared memory.
#include <cstdio>

#include "absorb.cu"
#include "field_march.cuh"
#include "tti_step.cuh"

using namespace subsalt;
using namespace subsalt::cuda;

namespace {

template <class Kernel>
void print(Kernel*, const char* symbol, const char* name, int threads, std::size_t shared) {
    std::printf("%s\t%s\t%d\t%zu\n", symbol, name, threads, shared);
}

template <int Fields, int M, Boundary B, bool Stretched>
void print_march(const char* name) {
    using March = FieldMarch<Fields, Stretched>;
    char symbol[128];
    std::snprintf(symbol, sizeof symbol, "11field_marchILi%dELi%dELi3ELNS_8BoundaryE%dENS0_6FloatsELb%dEE", Fields, M,
                  static_cast<int>(B), Stretched);
    print(March::template kernel<M, 3, B, Floats>(), symbol, name, block_threads, March::shared);
}

template <int M>
void print_psi(const char* name) {
    char symbol[128];
    std::snprintf(symbol, sizeof symbol, "11advance_psiILi%dEE", M);
    print(advance_psi<M>, symbol, name, block_threads, 0);
}

template <int M, int Rows, bool Plain, bool Stretched>
void print_tilted(const char* name) {
    using Tile = TiltedTile<M, 3, Rows, Plain>;
    char symbol[128];
    std::snprintf(symbol, sizeof symbol, "9tti_marchILi%dELi3ELi%dELb%dELb%dEE", M, Rows, Plain, Stretched);
    print(tti_march<M, 3, Rows, Plain, Stretched>, symbol, name, Tile::threads, Tile::bytes);
}

} // namespace

int main() {
    print_march<1, 4, Boundary::none, false>("isotropic, order 8");
    print_march<1, 4, Boundary::pml, false>("isotropic, order 8, PML");
    print_march<2, 4, Boundary::none, false>("VTI, order 8");
    print_march<2, 4, Boundary::pml, false>("VTI, order 8, PML");
    print_march<2, 4, Boundary::pml, true>("VTI, order 8, PML, stretched");
    print_psi<4>("Psi, order 8");
    print_tilted<4, 16, true, false>("TTI, order 8");
    print_tilted<4, 8, false, false>("TTI, order 8, PML");
    print_tilted<4, 16, true, true>("TTI, order 8, stretched");
    print_tilted<2, 16, true, false>("TTI, order 4");
    print_tilted<8, 4, false, false>("TTI, order 16");
}
