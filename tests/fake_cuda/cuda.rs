//! A stand-in for NVIDIA's driver library: the functions that gbench-ci asks for, without a GPU.
//!
//! It has the functions of AMD's HIP runtime as well, for a link to it by that library's name.
//!
//! Built by the tests with plain `rustc --crate-type cdylib` under the name `libcuda.so.1`, and loaded as the real one is. It takes
//! real cubins, of which it reads the kernels; a launch runs the kernel's twin on the CPU (`twins.rs`). What it answers otherwise is
//! that of one healthy GPU, and the variables change it:
//!
//! - `FAKE_CUDA`: settings, as below, with blanks between them.
//! - `FAKE_CUDA_FILE`: a file with more, relative to the working folder, which go before those of `FAKE_CUDA`.
//! - `FAKE_CUDA_TWINS`: the libraries of twins, with colons between them; `MARK=PATH` for the cubins with a symbol MARK alone.
//! - `CUDA_VISIBLE_DEVICES`: as for the real one.
//!
//! | setting | usual | |
//! |---|---|---|
//! | `NAME=!CODE`, `NAME=!CODE@N`, `NAME=!CODE@N*` | | a function fails: each call, the Nth, from the Nth on. An error of the device (700, 702, 710, 714 to 719) of a call that only queues comes up at the next call that waits, and every call answers it from then on |
//! | `lost@N` | | from the Nth call on each answers 999 |
//! | `hang=NAME@N` | | the Nth call of a function never comes back |
//! | `count=2` | 1 | devices. At 0 `cuInit` succeeds and counts none; where `CUDA_VISIBLE_DEVICES` hides all, it answers 100 |
//! | `driver=12040` | 13000 | what `cuDriverGetVersion` answers. A cubin of a later toolkit's major version is refused, as PTX is with 222 |
//! | `newer=209`, `newer=loads` | 200 | what such a cubin is refused with, or that it is loaded after all |
//! | `exclusive=FOLDER` | | the devices are in exclusive mode: of the processes that name this folder, one at a time has a context on a device, and the others get 46 |
//! | `name uuid pci sm total sms l2 memory_clock_mhz bus_bits shared_optin` | 80 GB card of 9.0 | the device, each also for one: `sm.1=80`. `_` in a name stands for a blank; sizes take K, M, G, T |
//! | `gfx=gfx942` | `gfx90a` | the card is AMD's, for programs that call HIP's functions; code objects of others are refused with 209 |
//! | `attribute.N=VALUE` | | one of `CUdevice_attribute` |
//! | `clock=virtual` | `real` | time is computed (`clock.rs`), else that of the machine |
//! | `kernel.NAME=MS kernel.PREFIX*=MS kernel=MS` | 0.020 | how long kernels last |
//! | `launch_us pcie_gbs mem_gbs clock_mhz tick_us` | 4, 50, 3000, 1980, 0.001 | host time of a queued command; speeds of copies and fills; SM clock; resolution of events |
//! | `noise process_noise seed counter` | 0, 0, 0, pid | relative deviation of each command and of a whole process; what both begin with, and a file that counts processes |
//! | `throttle=1.4@200-260` | | these kernels of the process, counted from 1, are slower, and the SM clock lower |
//! | `events=0.1` | 1 | a factor on all that `cuEventElapsedTime` answers |
//! | `sleep=1` | 0 | a call that waits takes the virtual time in real time as well |
//! | `load=PATH` | | the nanoseconds in which kernels worked, for `load` of the other stand-in, whose energy follows them |
//! | `run=always`, `run=changed`, `run=settled` | `changed` under the virtual clock, else `always` | whether a kernel runs again with the same arguments, while nothing else changed a buffer that it was given. `changed` counts a kernel's own changes as none, so that one that adds to what it finds does so once; `settled` skips only what changed nothing when it ran last |
//! | `always=NAME,NAME` | `gb_stamp,gb_spin` | kernels that run each time; so do those that are given host memory |
//! | `replay=1` | 0 | a launch returns when its kernel is over, as under ncu, which replays it; a kernel that waits for the host then runs into its limit |
//! | `jit=none` | | the driver has no compiler for PTX, and refuses it with 221 |
//! | `twins=none` | | kernels do nothing but take their time |
//! | `fresh=zero` | noise | what new memory up to 1 MiB holds; larger holds zeros |
//! | `trace=PATH` | | one line a call, `NAME what -> CODE`, and one a kernel, `run NAME` or `skip NAME` with its times |
//!
//! `--cfg old_driver` leaves out what a driver of the 10.x years did not have.
//!
//! Not as on a card: streams do not slow each other; a kernel that reads memory through a pointer that is not among its own
//! parameters may see a large fill late; one that touches an address that is nobody's ends the process (a pointer to memory that was
//! given back is an error 700); PTX is compiled without a look at its instructions; a fatbin is refused with 209; graphs keep their commands in a line.

#![allow(non_snake_case)]

mod clock;
mod code_object;
mod codes;
mod device;
mod driver;
mod elf;
mod exports;
mod functions;
mod launch;
mod memory;
mod ptx;
mod queue;
mod settings;
mod twins;

const INVALID_VALUE: u32 = 1;
const INVALID_HANDLE: u32 = 400;
const NOT_READY: u32 = 600;
