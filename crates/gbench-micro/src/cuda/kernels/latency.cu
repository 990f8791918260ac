// How long one load takes when the next one needs its answer.

// Follows `steps` entries of `next` from *place, and leaves *place where it came to: the next launch goes on from
// there, so that a chain longer than a cache is never followed twice from within it. One thread. The loads pass by
// the SM's own cache.
extern "C" __global__ void gb_chase(const unsigned *next, unsigned *place, unsigned steps)
{
    if (threadIdx.x != 0 || blockIdx.x != 0) {
        return;
    }
    unsigned here = *place;
#pragma unroll 8
    for (unsigned step = 0; step < steps; step++) {
        here = __ldcg(&next[here]);
    }
    *place = here;
}

#ifdef GB_CPU
GB_TWIN(gb_chase)
#endif
