# %%
# answer: waits_a
def waits_a(n: int, k: int) -> int:
    """Give the number of waits of loop_a(n, k)."""
    printed = (n - 1) // k + 1  # at 0, k, 2k and so on, and formatting needs the number
    return printed + 1  # item()


# %%
# answer: waits_b
def waits_b(n: int) -> int:
    """Give the number of waits of loop_b(n), for n from 1 on."""
    return 1  # the list and the stack hold arrays; only the last call needs numbers


# %%
# answer: waits_c
def waits_c(n: int) -> int:
    """Give the number of waits of loop_c(n), for n from 1 on."""
    return n  # the mask, whose result has a shape that depends on numbers


# %%
# answer: waits_d
def waits_d(epochs: int, n: int, k: int) -> int:
    """Give the number of waits of loop_d(epochs, n, k), for epochs, n and k from 1 on."""
    return epochs * (n // k + 1)  # float() at every k-th step, and the line after each epoch


# %%
# answer: waits_e
def waits_e(n: int) -> int:
    """Give the number of waits of loop_e(n), for n from 1 on."""
    return n + 1  # `loss > 0` is asked first, also when i has reached n
