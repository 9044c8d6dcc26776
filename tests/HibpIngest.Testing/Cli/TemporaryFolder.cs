namespace HibpIngest.Testing;

/// <summary>A folder that is deleted at the end of the test.</summary>
public sealed class TemporaryFolder : IDisposable
{
    public string Path { get; } = Directory.CreateTempSubdirectory("hibp-test-").FullName;

    public string Write(string name, string content)
    {
        var file = System.IO.Path.Combine(Path, name);
        File.WriteAllText(file, content);
        return file;
    }

    public string Write(string name, byte[] content)
    {
        var file = System.IO.Path.Combine(Path, name);
        File.WriteAllBytes(file, content);
        return file;
    }

    public void Dispose() => Directory.Delete(Path, recursive: true);
}
