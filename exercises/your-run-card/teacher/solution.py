# %% [markdown]
# <!-- answer: machine -->
# (From a machine with two cores and no GPU.)
#
# *Threads.* The BLAS uses two threads. With one, the product would take up to twice as long, since a product of
# this size is nearly all arithmetic that can be split. I can change that with `OMP_NUM_THREADS`, or in the
# program.
#
# *Type of number.* The card says float32. With float64 each vector register holds half as many numbers, so the
# product would take about twice as long. I can change that, too.
#
# *Kernel of the BLAS.* The name behind the library says for which processor its code was written. An old one
# there would not use this processor's wide registers, and the same product would be several times slower.

# %% [markdown]
# <!-- answer: figures -->
# "Asked for" is the time until the loop had ended, for one product of twenty; "there" the time until all had been
# computed.
#
# With PyTorch on my CPU the two are the same: when a call returns, its product is there. No backend computes
# beside the frontend, so there are no two sides of which one could set the pace. The wait after each product adds
# only what the call of `synchronize` takes, which is less than what my rounds differ by, so I cannot call it a
# cost.
#
# With MXNet asking took a small part of the time: the rest was still to be computed when the loop had ended, so a
# backend computes beside the frontend, and it sets the pace (t2 is larger than t1). A wait after each adds
# min(t1, t2) + t3, here the frontend's part and the answer, a few per cent, which is not clearly more than my
# rounds differ by.

# %% [markdown]
# <!-- answer: comparison -->
# I compare processor and device, cores allowed, threads, type of number and the BLAS with its kernel. Rows, type,
# threads and machine have to be alike, both clocks have to wait before they stop, and both have to be warm. If
# the other card says "GPU" or has four times my threads, its figure says nothing about the frameworks.
#
# Neither card tells what else was running. A browser on my two cores, or a processor that had slowed down because
# it was hot, could explain a factor of four by itself.
