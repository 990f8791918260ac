//! Reads `[benchmark.cuda]`: the kernel, its launch, its reference. Evaluates every expression for every case, so that an
//! impossible launch is an error of the file.

use std::path::Path;

use toml::de::DeValue;

use super::action_reader::check_text;
use super::cuda_argument_reader::{read_arguments, read_data, read_type};
use super::kernel_number_reader::{NumberRule, SweptParams, for_point, number};
use super::sweep_reader::MAX_POINTS;
use crate::benchmark::cuda::{
    CudaArgument, CudaEntry, CudaLaunch, CudaReference, FLUSH_L2, MAX_BLOCK, MAX_CLUSTER, MAX_GRID, SMS,
    SUSTAINED, USUAL_SMS, axes, check_axis, is_of_card, on_card, threads,
};
use crate::benchmark::definition::Benchmark;
use crate::benchmark::element_type::ElementType;
use crate::benchmark::kernel_number::{KernelNumber, whole};
use crate::benchmark::launch::Action;
use crate::benchmark::template::{substitute, with_params};
use crate::reader::item::{Item, optional, refuse_each};
use crate::reader::table::Table;
use gbench_model::{Access, DType, ParamValue, Params, Timing, format_duration};

/// Seconds of `sustained = true`: the driver's mean of the power that it limits is one of up to a second.
const SUSTAINED_SECONDS: f64 = 3.0;

/// Reads the table, after the parameters. `looks`: the source must exist. `budget`: combinations that the file may still make.
pub(super) fn read_cuda(it: &mut Benchmark, item: &Item, names: &[String], looks: bool, budget: &mut usize) {
    // Overrides `extract` and `timing`, which are reported with the other keys without meaning here.
    it.timing = Timing::Protocol;
    it.extract.clear();
    let sweep = SweptParams { names, points: &it.points };
    let Some(mut table) = item.table() else { return };
    table.name = "[benchmark.cuda]".into();
    let entry = read_entry(&mut table, &sweep);
    if looks && it.build.is_none() {
        ["file", "image"]
            .into_iter()
            .filter_map(|key| table.again(key))
            .for_each(|item| look_for(&item, &it.dir, &sweep));
    }
    table.close();
    let Some(entry) = entry else { return };
    spread(it, &entry, item, budget);
    it.action = Action::Cuda(Box::new(entry));
}

/// True if the source is for AMD's cards. Reports nothing: the table is read later.
pub(super) fn is_hip(item: &Item) -> bool {
    let DeValue::Table(entries) = item.value else { return false };
    let file = entries.get("file").map(|file| file.get_ref());
    matches!(file, Some(DeValue::String(file)) if file.ends_with(".hip"))
}

fn read_entry(table: &mut Table, sweep: &SweptParams) -> Option<CudaEntry> {
    const NO_CODE: (&str, &str) = (
        "`[benchmark.cuda]` has no `file`",
        "add `file = \"saxpy.cu\"`, or `image = \"build/saxpy.cubin\"` for what another compiler made",
    );
    let code = table.one_of(["file", "image"], "a kernel", NO_CODE, "keep one of them");
    let image = code.as_ref().is_some_and(|item| item.key == "image");
    let file = code.and_then(|item| below(&item, sweep));
    let entry = table.need("entry", "`entry = \"saxpy\"`, the kernel's name");
    let entry = entry.and_then(|item| name(&item, sweep, image));
    let (mut given_options, mut given_include) = (table.take("options"), table.take("include"));
    if image {
        let given = [given_options.take(), given_include.take()].into_iter().flatten();
        refuse_each(
            given,
            "is for a source; an image is compiled already",
            "remove it, and give it to the `build` step",
        );
    }
    let options = given_options.and_then(|item| options(&item, sweep)).unwrap_or_default();
    let include = given_include.and_then(|item| item.texts("[\"include\"]")).unwrap_or_default();
    let grid = table.need("grid", "`grid = \"ceil_div(n, 256)\"`, the number of blocks");
    let grid = grid.and_then(|item| read_axes(&item, sweep, MAX_GRID));
    let block = table.need("block", "`block = 256`, the threads of a block");
    let block = block.and_then(|item| read_block(&item, sweep));
    let shared = table.take("shared").and_then(|item| shared(&item, sweep));
    let arguments = table.take("arguments").map_or(Some(Vec::new()), |item| read_arguments(&item, sweep));
    let data = table.take("data").map_or(Some(Default::default()), |item| read_data(&item, sweep));
    let reference = table.take("reference");
    let sustained = table.take("sustained").and_then(|item| sustained(&item));
    let flush_l2 = table.take("flush_l2").and_then(|item| flush(&item, sustained));
    let flush_l2 = flush_l2.unwrap_or_else(|| vec![sustained.is_none()]);
    let multiplies = table.take("multiplies").and_then(|item| read_multiplied(&item, sweep));
    let cluster = table.take("cluster");
    let clusters = cluster.as_ref().map_or(Some(Vec::new()), |item| read_axes(item, sweep, [MAX_CLUSTER; 3]));
    let cooperative = table.take("cooperative").and_then(|item| item.flag()).unwrap_or_default();
    let launch = CudaLaunch { grid: grid?, block: block?, shared, cluster: clusters?, cooperative };
    if let Some(item) = &cluster
        && let Some((point, why)) = sweep.points.iter().find_map(|it| Some((it, launch.on_cards(it).err()?)))
    {
        let next = "write a number of blocks that divides the grid: 2, or [2, 1, 1]";
        return item.refuse(format!("{}{why}", for_point(point)), next);
    }
    let reference =
        optional(reference, |item| read_reference(item, sweep, (&launch, image), arguments.as_deref()))?;
    let (file, entry, arguments, data) = (file?, entry?, arguments?, data?);
    Some(CudaEntry {
        file,
        image,
        entry,
        options,
        include,
        launch,
        arguments,
        data,
        reference,
        flush_l2,
        sustained,
        multiplies,
    })
}

/// A type whose multiplications some card has a known peak for.
fn read_multiplied(item: &Item, sweep: &SweptParams) -> Option<ElementType> {
    let dtype = read_type(item, sweep)?;
    let has_peak = |it: DType| it.is_floating() && it.part() == it || matches!(it, DType::I8 | DType::I4);
    match sweep.points.iter().filter_map(|point| dtype.of(point).ok()).find(|it| !has_peak(*it)) {
        Some(other) => {
            let name: &str = other.into();
            item.refuse(
                format!("no card has a known peak for `{name}`"),
                "remove it, or write a type such as \"f16\"",
            )
        }
        None => Some(dtype),
    }
}

/// A file below the benchmark's folder, whatever the parameters in it are: a comparison of commits has one in each tree.
fn below(item: &Item, sweep: &SweptParams) -> Option<String> {
    let file = item.filled()?;
    check_text(item, sweep.names);
    let leaves = std::iter::once(file.to_owned())
        .chain(sweep.points.iter().map(|point| with_params(file, point)))
        .find(|path| !is_below(path));
    if let Some(path) = leaves {
        return item.refuse(
            format!("`{path}` leaves the benchmark's folder"),
            "write the path from there, or set `dir`",
        );
    }
    Some(file.to_owned())
}

fn look_for(item: &Item, dir: &Path, sweep: &SweptParams) {
    let key = item.key;
    let Some(file) = item.value.as_str().filter(|file| !file.trim().is_empty()) else { return };
    let paths = sweep.points.iter().map(|point| with_params(file, point));
    let missing =
        paths.map(|file| (dir.join(&file), file)).find(|(path, file)| is_below(file) && !path.is_file());
    if let Some((path, file)) = missing {
        let what = if path.is_dir() { "is a folder" } else { "is not there" };
        let build = if key == "image" { ", or name its compiler in `build`" } else { "" };
        let next = format!("write the path from {}, or set `dir`{build}", dir.display());
        item.fault(format!("`{key} = \"{file}\"` {what}"), next);
    }
}

fn is_below(file: &str) -> bool {
    !file.starts_with('/') && file.split('/').all(|part| part != "..")
}

/// `image`: it is compared with symbols; the readable name of one may have brackets.
fn name(item: &Item, sweep: &SweptParams, image: bool) -> Option<String> {
    let text = item.filled()?;
    if !image && text.contains(['(', ';']) || text.chars().any(char::is_control) {
        return item.refuse(
            format!("`{text}` is not a kernel's name"),
            "write only the name; for a template, with its arguments: \"blur<float, 4>\"",
        );
    }
    check_text(item, sweep.names);
    Some(text.to_owned())
}

/// Prefixes of options that the gate does not pass on, with their meaning and the next step.
const REFUSED: [(&[&str], &str, &str); 5] = [
    (&["-I", "--include-path"], "is a folder of headers", "write it into `include = [\"folder\"]`"),
    (
        &["-arch", "--gpu-architecture"],
        "names an architecture",
        "remove it: the kernel is compiled for the GPU that it runs on",
    ),
    (
        &["-rdc", "--relocatable-device-code", "-dc", "--device-c"],
        "produces code that has to be linked",
        "remove it: a single file is compiled and loaded",
    ),
    (
        &["-dlto", "--dlink-time-opt", "-lto", "-gen-opt-lto", "--gen-opt-lto", "-optix-ir", "--optix-ir"],
        "produces no machine code",
        "remove it: the result is loaded without changes",
    ),
    (
        &[
            "-time",
            "--time",
            "-fdevice-time-trace",
            "--fdevice-time-trace",
            "-pch",
            "--pch",
            "-create-pch",
            "--create-pch",
            "-use-pch",
            "--use-pch",
        ],
        "reads or writes another file",
        "remove it: a run compiles each kernel once and keeps no files",
    ),
];

fn options(item: &Item, sweep: &SweptParams) -> Option<Vec<String>> {
    for member in item.list("a list of options, such as [\"-DTILE=32\", \"--use_fast_math\"]")? {
        let Some(text) = member.filled() else { continue };
        check_text(&member, sweep.names);
        let raw = [text.to_owned()];
        // The values of a case may turn it into another option.
        let refused = |point: &Params| {
            let option = substitute(&raw, point).concat();
            let (what, next) = wrong_option(&option)?;
            let case = if option == text { String::new() } else { for_point(point) };
            Some((format!("{case}`{option}` {what}"), next))
        };
        if let Some((what, next)) = sweep.points.iter().find_map(refused) {
            member.fault(what, next);
        }
    }
    item.texts("[\"-DTILE=32\"]")
}

fn wrong_option(option: &str) -> Option<(&'static str, &'static str)> {
    if !option.starts_with('-') {
        return Some(("is no option", "write options of NVRTC, each as one word, such as \"-DTILE=32\""));
    }
    let is = |beginnings: &[&str]| beginnings.iter().any(|beginning| option.starts_with(beginning));
    REFUSED.iter().find(|(beginnings, ..)| is(beginnings)).map(|(_, what, next)| (*what, *next))
}

/// One number, or up to three, each with its maximum.
fn read_axes(item: &Item, sweep: &SweptParams, most: [u64; 3]) -> Option<Vec<KernelNumber>> {
    let members = match item.value {
        DeValue::Array(_) => item.list("up to three numbers")?,
        _ => vec![item.clone()],
    };
    if members.is_empty() || members.len() > 3 {
        let what = format!("`{}` has {} axes", item.key, members.len());
        return item.refuse(what, "write a number, or a list of up to three: x, y, z");
    }
    let next = match item.key {
        "grid" => "write a number of blocks, or an expression such as \"ceil_div(n, 256)\"",
        "cluster" => "write a number of blocks: 2, or [2, 1, 1]",
        _ => "write a number of threads: 256, or [16, 16]",
    };
    let read = members.iter().zip(most).map(|(member, most)| {
        let check = |it: f64, _: &Params| check_axis(it, most);
        let rule = NumberRule { check: &check, next };
        let has = |name: &str| sweep.names.iter().any(|it| it == name);
        match member.value.as_str() {
            Some(text) if item.key == "grid" && is_of_card(text, has) => {
                let names: Vec<String> = sweep.names.iter().cloned().chain([SMS.to_owned()]).collect();
                let points: Vec<Params> = sweep.points.iter().map(|it| on_card(it, USUAL_SMS)).collect();
                number(member, &SweptParams { names: &names, points: &points }, &rule)
            }
            _ => number(member, sweep, &rule),
        }
    });
    // Collects first, so that every faulty axis is reported.
    read.collect::<Vec<_>>().into_iter().collect()
}

fn read_block(item: &Item, sweep: &SweptParams) -> Option<Vec<KernelNumber>> {
    let block = read_axes(item, sweep, MAX_BLOCK)?;
    let many = |point: &Params| threads(axes(&block, point, MAX_BLOCK).ok()?).err();
    let many = sweep.points.iter().find_map(|point| Some((many(point)?, point)));
    if let Some((what, point)) = many {
        return item
            .refuse(format!("{}{what}", for_point(point)), "write fewer threads, and more blocks in `grid`");
    }
    Some(block)
}

fn shared(item: &Item, sweep: &SweptParams) -> Option<KernelNumber> {
    let check = |it: f64, _: &Params| whole(it, &(0..=u64::from(u32::MAX))).map(drop);
    number(item, sweep, &NumberRule { check: &check, next: "write a number of bytes: `shared = \"4 * n\"`" })
}

/// `own`: the launch of the measured kernel. `arguments`: `None` if they are wrong, so that the written types are unknown.
fn read_reference(
    item: &Item,
    sweep: &SweptParams,
    (own, image): (&CudaLaunch, bool),
    arguments: Option<&[CudaArgument]>,
) -> Option<CudaReference> {
    let mut table = item.table()?;
    table.name = "[benchmark.cuda.reference]".into();
    let next = "`entry = \"saxpy_plain\"`, a kernel of the same file with the same parameters";
    let entry = table.need("entry", next).and_then(|item| name(&item, sweep, image));
    let grid = table.take("grid").map(|item| read_axes(&item, sweep, MAX_GRID));
    let block = table.take("block").map(|item| read_block(&item, sweep));
    let shared_bytes = table.take("shared").map(|item| shared(&item, sweep));
    let is_written = |buffer: &CudaArgument| matches!(buffer, CudaArgument::Buffer { access, .. } if *access != Access::Input);
    let mut tolerance = |key| {
        let read = |item: Item| item.number_that(|it| it >= 0.0, "write a number of at least 0").map(Some);
        table.take(key).map_or(Some(None), read)
    };
    let (absolute, relative) = (tolerance("absolute"), tolerance("relative"));
    table.close();
    if arguments.is_some_and(|all| !all.iter().flat_map(CudaArgument::buffers).any(is_written)) {
        item.fault(
            "`reference` has nothing to check: no argument is an `output` or `inout`",
            "add the written buffers to `arguments`, or remove `reference`",
        );
    }
    let launch = CudaLaunch {
        grid: grid.unwrap_or_else(|| Some(own.grid.clone()))?,
        block: block.unwrap_or_else(|| Some(own.block.clone()))?,
        shared: match shared_bytes {
            Some(read) => Some(read?),
            None => own.shared.clone(),
        },
        ..CudaLaunch::default()
    };
    Some(CudaReference { entry: entry?, launch, absolute: absolute?, relative: relative? })
}

/// `true`, or the seconds for which the card is loaded.
fn sustained(item: &Item) -> Option<f64> {
    if let DeValue::Boolean(flag) = item.value {
        return flag.then_some(SUSTAINED_SECONDS);
    }
    let seconds = item.seconds()?;
    if seconds <= 0.0 {
        return item
            .refuse("`sustained` must be longer than 0", "write `true`, or a duration such as \"5s\"");
    }
    Some(seconds)
}

fn flush(item: &Item, sustained: Option<f64>) -> Option<Vec<bool>> {
    let flags = flags(item)?;
    if sustained.is_some() && flags.contains(&true) {
        let what =
            "a sustained case has no flush of the L2 cache, at which the card would rest from the kernel";
        return item.refuse(
            what,
            "leave `flush_l2` out, or measure the cold case in another benchmark without `sustained`",
        );
    }
    Some(flags)
}

fn flags(item: &Item) -> Option<Vec<bool>> {
    let DeValue::Array(_) = item.value else { return Some(vec![item.flag()?]) };
    let members = item.list("true, false, or both")?;
    let flags: Vec<bool> = members.iter().filter_map(Item::flag).collect();
    let twice = flags.len() == 2 && flags[0] == flags[1];
    if members.is_empty() || members.len() > 2 || twice {
        let next = "write `true`, `false`, or `[true, false]` for a cold and a hot case";
        return item.refuse("`flush_l2` is empty or repeats a value", next);
    }
    Some(flags)
}

/// Adds a hot case to each point. The cold one, the default, keeps its name, and so do bursts.
fn spread(it: &mut Benchmark, entry: &CudaEntry, item: &Item, budget: &mut usize) {
    let CudaEntry { flush_l2, sustained, .. } = entry;
    let more = it.points.len() * (flush_l2.len().max(1) - 1);
    let Some(left) = budget.checked_sub(more) else {
        let what = format!("with `flush_l2` the file makes more than {MAX_POINTS} cases");
        return item.fault(what, "shorten the lists of `matrix`, or write one value");
    };
    *budget = left;
    let of = |point: &Params, cold: bool| {
        let hot = (!cold).then(|| (FLUSH_L2.to_owned(), ParamValue::Bool(false)));
        let sustained =
            sustained.map(|seconds| (SUSTAINED.to_owned(), ParamValue::Text(format_duration(seconds))));
        point.clone().into_iter().chain(hot).chain(sustained).collect::<Params>()
    };
    it.points = it.points.iter().flat_map(|point| flush_l2.iter().map(|cold| of(point, *cold))).collect();
}
