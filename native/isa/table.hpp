// The functions every instruction set provides, as pointers: the bindings call through it.
#pragma once

namespace subsalt {

struct Table {
    const char* name;     // v2, v3, v4 or generic
    const char* numerics; // fields are equal bit for bit within one class: "fma" or "mul-add"
    int lanes;            // floats per vector
};

} // namespace subsalt
