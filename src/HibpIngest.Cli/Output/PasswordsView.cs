using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Releases;

namespace HibpIngest.Cli.Output;

internal sealed class PasswordsView(Action<string> show, TimeProvider time)
    : IProgress<ImportProgress>, IProgress<ImportStep>, IProgress<(long Rows, long Total)>, IProgress<int>
{
    private string _step = "";
    private long _began;
    private long _before;

    public void Report(ImportProgress value) => Show("reading", value.Bytes, value.BytesInAll, value.Rows);

    public void Report(ImportStep value) => Show(
        value.Step == ImportStepKind.Write ? "writing" : "reading back", value.Rows, value.RowsInAll, value.Rows);

    public void Report((long Rows, long Total) value) => Show("writing", value.Rows, value.Total, value.Rows);

    public void Report(int value) =>
        show($"waiting: {TableFormat.Number(value)} transactions are being appended, by 'hibp run' or the functions");

    private void Show(string step, long done, long? inAll, long rows)
    {
        if (_step != step)
            (_step, _began, _before) = (step, time.GetTimestamp(), done);
        var elapsed = time.GetElapsedTime(_began);
        var left = inAll > 0 && done > _before ? elapsed * ((double)(inAll.Value - done) / (done - _before)) : (TimeSpan?)null;
        show($"{step}: {TableFormat.Number(rows)} hashes"
            + (inAll > 0 ? $", {100 * done / inAll.Value}%" : "")
            + $", {TableFormat.Duration(elapsed)}"
            + (left is null ? "" : $", {TableFormat.Duration(left)} left"));
    }
}
