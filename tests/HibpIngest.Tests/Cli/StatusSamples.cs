using HibpIngest.Cli.Output;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Tests.Cli;

internal static class StatusSamples
{
    /// <summary>Returns a load with default settings that has read nothing yet.</summary>
    public static Load NewLoad(long id, LoadState state, DateTimeOffset startedAt, string breach = "Adobe") => new()
    {
        Id = new(id),
        Breach = breach,
        Blob = new BlobVersion($"{breach}.zip", "1"),
        State = state,
        Settings = LoadStart.NewSettings(new IngestOptions()),
        Checkpoint = new LoadCheckpoint(),
        StartedAt = startedAt,
    };

    /// <summary>Returns the text of 'hibp status'.</summary>
    public static string TextOf(StatusSnapshot picture, DateTimeOffset now)
    {
        var text = new StringWriter();
        Screen.Create(text).Write(StatusView.Create(picture, now, mailsPerSecond: 10, showsJournal: true, _ => true));
        return text.ToString();
    }
}
