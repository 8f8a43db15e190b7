//! Memory that will be read soon, asked for ahead.
#![allow(
    unsafe_code,
    reason = "a hint to the processor; the dominator tree of 10 million objects takes a fifth less time with it"
)]

/// Asks the processor to bring a value near: it goes on meanwhile, as it cannot behind loads whose values it waits for.
/// Nothing happens past the end.
#[inline(always)]
pub(crate) fn prefetch<T>(values: &[T], at: usize) {
    #[allow(unused_variables, reason = "of other processors")]
    let Some(value) = values.get(at) else { return };
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a value of the slice, and nothing that the program can see is read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        use std::{arch::asm, ptr};
        asm!("prfm pldl1keep, [{}]", in(reg) ptr::from_ref(value), options(nostack, preserves_flags, readonly));
    }
}
