#pragma once
// Functions that are compiled for several instruction sets, of which the processor takes its best. Files with such
// functions are compiled without contraction of products and sums, so all of them give the same numbers.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define MANYFOLD_VECTOR_CODE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MANYFOLD_VECTOR_CODE
#endif
