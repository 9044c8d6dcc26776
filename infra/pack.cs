#:property PublishAot=false
// Packs a published folder into the zip that Azure Functions runs: host.json and the functions' folders at its root,
// and the handler executable on Linux, whatever system packs it.
//   dotnet run infra/pack.cs FOLDER ZIP
// Zips made on Windows by other tools carry no Unix modes, and the host's file system is read-only: it could not start the handler.
using System.Buffers.Binary;
using System.IO.Compression;
using System.Text.Json;

if (args is not [var folder, var zip])
    return Fail("expected: dotnet run infra/pack.cs FOLDER ZIP");
if (!File.Exists(Path.Combine(folder, "host.json")))
    return Fail($"{folder} has no host.json: expected the output of dotnet publish src/HibpIngest.Functions");

using var host = JsonDocument.Parse(
    File.ReadAllText(Path.Combine(folder, "host.json")), new JsonDocumentOptions { CommentHandling = JsonCommentHandling.Skip });
var handler = host.RootElement.GetProperty("customHandler").GetProperty("description").GetProperty("defaultExecutablePath").GetString()!;
if (!File.Exists(Path.Combine(folder, handler)))
    return Fail(
        $"host.json starts '{handler}', and {folder} has no such file: expected the output of dotnet publish src/HibpIngest.Functions");

File.Delete(zip);
using (var archive = ZipFile.Open(zip, ZipArchiveMode.Create))
{
    foreach (var file in Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories).Order(StringComparer.Ordinal))
    {
        var name = Path.GetRelativePath(folder, file).Replace('\\', '/');
        // Settings of a developer's machine have no business in Azure.
        if (name == "local.settings.json")
            continue;
        var entry = archive.CreateEntryFromFile(file, name, CompressionLevel.Optimal);
        var mode = name == handler.Replace('\\', '/') ? 0b111_101_101 : 0b110_100_100;
        entry.ExternalAttributes = (0x8000 | mode) << 16;
    }
}

SayMadeOnUnix(zip);
Console.WriteLine($"{zip}: {new FileInfo(zip).Length / 1_000_000.0:0.0} MB");
return 0;

static int Fail(string message)
{
    Console.Error.WriteLine(message);
    return 1;
}

// Modes count only in entries made on Unix (APPNOTE.TXT 4.4.2): the upper byte of "version made by" in each entry of the central directory.
static void SayMadeOnUnix(string zip)
{
    const int EndOfDirectory = 22;
    const byte Unix = 3;
    using var file = File.Open(zip, FileMode.Open);
    var end = new byte[EndOfDirectory];
    file.Seek(-EndOfDirectory, SeekOrigin.End);
    file.ReadExactly(end);
    var entries = BinaryPrimitives.ReadUInt16LittleEndian(end.AsSpan(10));
    long position = BinaryPrimitives.ReadUInt32LittleEndian(end.AsSpan(16));
    var header = new byte[46];
    for (var i = 0; i < entries; i++)
    {
        file.Position = position;
        file.ReadExactly(header);
        if (BinaryPrimitives.ReadUInt32LittleEndian(header) != 0x02014b50)
            throw new InvalidDataException($"entry {i} of the zip's directory is not where it was expected");
        file.Position = position + 5;
        file.WriteByte(Unix);
        position += header.Length + BinaryPrimitives.ReadUInt16LittleEndian(header.AsSpan(28))
            + BinaryPrimitives.ReadUInt16LittleEndian(header.AsSpan(30))
            + BinaryPrimitives.ReadUInt16LittleEndian(header.AsSpan(32));
    }
}
