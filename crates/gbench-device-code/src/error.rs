//! Why a file's device code cannot be read.

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    #[error("neither a cubin nor a fatbin nor an ELF file of a program or library")]
    NotDeviceCode,
    #[error("a program, object or library of the host, of which a driver loads nothing")]
    OfHost,
    #[error("the file contains no code for a GPU")]
    NoDeviceCode,
    #[error("its code for a GPU has no kernel")]
    NoKernel,
    #[error(
        "it holds PTX only: the driver compiles that when it loads it, so nothing is known of the code that runs; \
         compile for the card's architecture, such as -arch=sm_90"
    )]
    OnlyPtx,
    #[error(
        "the file contains no cubin, only code that still has to be linked, as -dlto leaves it; link it, then give the program"
    )]
    OnlyIntermediate,
    #[error(
        "its device code still has to be linked (-rdc=true or -dc): give the program or library that is linked"
    )]
    Relocatable,
    #[error(
        "its code for sm_{arch} is packed in a way that is not known, or damaged; compile with -Xfatbin=-no-compress, \
         or nvcc --no-compress"
    )]
    Packed { arch: u32 },
    #[error("it has version {0} of the cubin format; versions 7 and 8 (CUDA 11 to 13) are known")]
    Abi(u8),
    #[error("it is damaged: {0}")]
    Malformed(&'static str),
    #[error("reading it would take too much: it unpacks to too much or refers to the same bytes too often")]
    TooLarge,
}
