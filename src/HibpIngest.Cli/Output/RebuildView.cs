using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Cli.Output;

internal static class RebuildView
{
    public static Task<RebuildResult> ShowAsync(
        Screen screen, TimeProvider time, Func<IProgress<RebuildProgress>, Task<RebuildResult>> work, Action onProgress)
    {
        long? writingSince = null;
        var left = new TimeLeft();
        return StatusText.ShowAsync(screen, time, "looking for rows that the layout is missing", show =>
            work(new ImmediateProgress<RebuildProgress>(value =>
        {
            onProgress();
            if (value.WrittenFraction == value.WrittenFractionBefore && value.Accounts == 0)
                show($"reading: {TableFormat.Number(value.Read)} of {TableFormat.Number(value.Rows)} rows");
            else
                show(Describe(value, time.GetElapsedTime(writingSince ??= time.GetTimestamp()), left));
        })));
    }

    private static string Describe(RebuildProgress value, TimeSpan elapsed, TimeLeft estimate)
    {
        var parts = value.Rows / TimeLeft.AccountsPerPart;
        var (done, open) = ((value.WrittenFraction - value.WrittenFractionBefore) * parts, (1 - value.WrittenFraction) * parts);
        var left = estimate.Next(elapsed, done, open) is { } time ? $", {TableFormat.Duration(time)} left" : "";
        var rate = elapsed < TimeSpan.FromSeconds(1) ? ""
            : $", {TableFormat.Number((long)(value.Accounts / elapsed.TotalSeconds))} a second";
        return $"writing: {value.WrittenFraction:P1} of {TableFormat.Number(value.Rows)} rows, "
            + $"{TableFormat.Number(value.Accounts)} accounts{rate}{left}";
    }
}

internal static class FillView
{
    public static Task<long> ShowAsync(
        Screen screen, TimeProvider time, Func<IProgress<FillProgress>, Task<long>> work, Action onProgress)
    {
        var began = time.GetTimestamp();
        return StatusText.ShowAsync(screen, time, "filling ranges", show => work(new ImmediateProgress<FillProgress>(value =>
        {
            onProgress();
            show(Describe(value, time.GetElapsedTime(began)));
        })));
    }

    private static string Describe(FillProgress value, TimeSpan elapsed) =>
        $"filling ranges: {TableFormat.Number(value.Accounts)} accounts, "
        + $"{TableFormat.Number((long)(value.Accounts / elapsed.TotalSeconds))} a second; "
        + $"{value.PartsDone} of {value.Parts} parts of the account table are done";
}
