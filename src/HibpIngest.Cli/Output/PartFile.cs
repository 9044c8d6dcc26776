namespace HibpIngest.Cli.Output;

/// <summary>
/// Writes a file under another name, and renames it when complete: a file under the final name is never partial. An existing file is
/// replaced.
/// </summary>
internal sealed class PartFile(FileInfo file) : IDisposable
{
    public FileStream Stream { get; } = new(file.FullName + ".part", FileMode.Create, FileAccess.ReadWrite);

    public void Complete()
    {
        Stream.Dispose();
        File.Move(Stream.Name, file.FullName, overwrite: true);
    }

    /// <summary>Deletes what was written, unless it was completed.</summary>
    public void Dispose()
    {
        Stream.Dispose();
        File.Delete(Stream.Name);
    }
}
