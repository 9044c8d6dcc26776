#:property PublishAot=false
#:property RestorePackagesWithLockFile=false
// Packs a published folder into the zip that Azure Functions runs: host.json and the functions' folders at its root,
// and the handler executable on Linux, whatever system packs it.
//   dotnet run infra/pack.cs FOLDER ZIP [ingest|web]
// One folder makes the packages of both apps. What is the web's own is in the folder web: its host.json and its function, in place of
// the pipeline's. No package has the functions of both, as the web's takes every path.
// Zips made on Windows by other tools carry no Unix modes, and the host's file system is read-only: it could not start the handler.
using System.Buffers.Binary;
using System.IO.Compression;
using System.Text.Json;

const string WebFolder = "web";

if (args is not [var folder, var zip, .. [] or ["ingest" or "web"]])
    return Fail("expected: dotnet run infra/pack.cs FOLDER ZIP [ingest|web]");
var isWeb = args is [.., "web"] && args.Length == 3;
var hostFile = isWeb ? $"{WebFolder}/host.json" : "host.json";
if (!File.Exists(Path.Combine(folder, hostFile)))
    return Fail($"{folder} has no {hostFile}: expected the output of dotnet publish src/HibpIngest.Functions");

using var host = JsonDocument.Parse(
    File.ReadAllText(Path.Combine(folder, hostFile)), new JsonDocumentOptions { CommentHandling = JsonCommentHandling.Skip });
var handler = host.RootElement.GetProperty("customHandler").GetProperty("description").GetProperty("defaultExecutablePath").GetString()!;
if (!File.Exists(Path.Combine(folder, handler)))
    return Fail(
        $"{hostFile} starts '{handler}', and {folder} has no such file: expected the output of dotnet publish src/HibpIngest.Functions");

File.Delete(zip);
using (var archive = ZipFile.Open(zip, ZipArchiveMode.Create))
{
    foreach (var file in Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories).Order(StringComparer.Ordinal))
    {
        // Settings of a developer's machine have no business in Azure.
        if (NameOf(Path.GetRelativePath(folder, file).Replace('\\', '/'), isWeb) is not { } name || name == "local.settings.json")
            continue;
        var entry = archive.CreateEntryFromFile(file, name, CompressionLevel.Optimal);
        var mode = name == handler.Replace('\\', '/') ? 0b111_101_101 : 0b110_100_100;
        entry.ExternalAttributes = (0x8000 | mode) << 16;
    }
}

SayMadeOnUnix(zip);
Console.WriteLine($"{zip}: {new FileInfo(zip).Length / 1_000_000.0:0.0} MB");
return 0;

// What a file is called in the package; null: it is the other app's.
static string? NameOf(string path, bool isWeb)
{
    var isOfWeb = path.StartsWith($"{WebFolder}/", StringComparison.Ordinal);
    if (isOfWeb)
        return isWeb ? path[(WebFolder.Length + 1)..] : null;
    return isWeb && Path.GetFileName(path) is "host.json" or "function.json" ? null : path;
}

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
