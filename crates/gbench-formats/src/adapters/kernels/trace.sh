# Traces the program "$@" and leaves its tables in the folder $1. A program that fails has none.
out=$1; shift
tracer=${GBENCH_TRACER:-nsys}; unset GBENCH_TRACER
start=': >"$0" && exec "$@"'
case $tracer in
rocprof:*)
    "${tracer#rocprof:}" --kernel-trace --memory-copy-trace --output-format csv -d "$out" -- sh -c "$start" "$out/started" "$@" || exit
    find "$out" -name '*_trace.csv' -exec sh -c 'for table do echo "# end of trace" >>"$table"; done' sh {} +
    exit ;;
esac
"$tracer" profile --trace=cuda --cuda-graph-trace=node --sample=none --cpuctxsw=none --force-overwrite=true -o "$out/trace" \
    sh -c "$start" "$out/started" "$@" || exit
report=$out/trace.nsys-rep
[ -e "$report" ] || report=$out/trace.qdrep
[ -e "$report" ] || { : >"$out/no-report"; exit; }
for name in cuda_gpu_trace gputrace; do
    { "$tracer" --version
      "$tracer" stats --report "$name" --format csv --force-export=true "$report" 2>>"$out/stats.err" && echo "# end of trace"
    } >"$out/trace.csv"
    ! grep -q CorrId "$out/trace.csv" || break
done
rm -f "$report" "$out/trace.sqlite"
cat "$out/stats.err" >&2
