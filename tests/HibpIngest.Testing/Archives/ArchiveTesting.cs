using System.Formats.Tar;
using System.IO.Compression;
using System.IO.Pipelines;
using HibpIngest.Archives;
using ICSharpCode.SharpZipLib.Zip;

namespace HibpIngest.Testing;

/// <summary>Builds archives with independent libraries, and reads them with ours.</summary>
internal static class ArchiveTesting
{
    public sealed record Text(int TopLevel, string Name, string Content);

    /// <param name="name">Selects the format.</param>
    public static List<Text> Read(byte[] archive, string? password = null, ArchiveLimits? limits = null, string name = "a.zip") =>
        Read(archive, default, out _, password, limits, name);

    public static List<Text> Read(
        byte[] archive, ArchivePosition start, out ArchivePosition end, string? password = null, ArchiveLimits? limits = null,
        string name = "a.zip")
    {
        using var stream = new MemoryStream(archive, writable: false);
        using var breach = BreachFile.Open(stream, name, password, limits ?? new ArchiveLimits(), opensTars: true);
        var texts = new List<Text>();
        foreach (var text in breach.ReadFrom(start))
        {
            using var content = new MemoryStream();
            text.Content.CopyTo(content, 777); // an odd size, so that reads cross every boundary
            texts.Add(new Text(text.TopLevel.Entry, text.DisplayName, Encoding.Latin1.GetString(content.ToArray())));
        }
        end = breach.Position;
        return texts;
    }

    public static string Refusal(byte[] archive, string? password = null, ArchiveLimits? limits = null, string name = "a.zip")
    {
        var message = Assert.Throws<BadArchiveException>(() => Read(archive, password, limits, name)).Message;
        Assert.DoesNotContain('\n', message);
        return message;
    }

    public static void AssertRefused(
        string reason, byte[] archive, string? password = null, ArchiveLimits? limits = null, string name = "a.zip") =>
        Assert.Contains(reason, Refusal(archive, password, limits, name), StringComparison.Ordinal);

    public static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    /// <summary>Returns lines that compress about as well as a real dump.</summary>
    public static string Lines(int count, int seed)
    {
        var random = new Random(seed);
        var text = new StringBuilder();
        for (var i = 0; i < count; i++)
        {
            text.Append("user").Append(random.Next(1_000_000)).Append("@example").Append(random.Next(50)).Append(".com:")
                .Append(random.NextInt64()).Append('\n');
        }
        return text.ToString();
    }

    public static byte[] Gzip(byte[] data)
    {
        var compressed = new MemoryStream();
        using (var gzip = new GZipStream(compressed, CompressionLevel.Fastest, leaveOpen: true))
            gzip.Write(data);
        return compressed.ToArray();
    }

    /// <summary>Makes a tar with System.Formats.Tar.</summary>
    public static byte[] Tar(params (string Name, byte[] Data)[] entries) => Tar(TarEntryFormat.Pax, entries);

    public static byte[] Tar(TarEntryFormat format, params (string Name, byte[] Data)[] entries)
    {
        var tar = new MemoryStream();
        using (var writer = new TarWriter(tar, format, leaveOpen: true))
        {
            foreach (var (name, data) in entries)
            {
                var type = name.EndsWith('/') ? TarEntryType.Directory
                    : format == TarEntryFormat.V7 ? TarEntryType.V7RegularFile : TarEntryType.RegularFile;
                TarEntry entry = format switch
                {
                    TarEntryFormat.V7 => new V7TarEntry(type, name),
                    TarEntryFormat.Ustar => new UstarTarEntry(type, name),
                    TarEntryFormat.Gnu => new GnuTarEntry(type, name),
                    _ => new PaxTarEntry(type, name),
                };
                if (type != TarEntryType.Directory)
                    entry.DataStream = new MemoryStream(data);
                writer.WriteEntry(entry);
            }
        }
        return tar.ToArray();
    }

    /// <summary>Makes a zip with System.IO.Compression; if not seekable, the sizes follow the data.</summary>
    public static byte[] Zip(bool seekable, params (string Name, byte[] Data)[] entries)
    {
        var zip = new MemoryStream();
        using (var archive = new ZipArchive(seekable ? zip : Unseekable(zip), ZipArchiveMode.Create, leaveOpen: true))
        {
            foreach (var (name, data) in entries)
            {
                using var entry = archive.CreateEntry(name).Open();
                entry.Write(data);
            }
        }
        return zip.ToArray();
    }

    /// <summary>Makes an encrypted zip with SharpZipLib. <paramref name="aesBits"/> 0 selects ZipCrypto.</summary>
    public static byte[] Encrypted(string password, int aesBits, CompressionMethod method, params (string Name, byte[] Data)[] entries) =>
        Encrypted(password, aesBits, method, seekable: true, entries);

    public static byte[] Encrypted(
        string password, int aesBits, CompressionMethod method, bool seekable, params (string Name, byte[] Data)[] entries)
    {
        var zip = new MemoryStream();
        using (var output = new ZipOutputStream(seekable ? zip : Unseekable(zip)) { IsStreamOwner = false, Password = password })
        {
            foreach (var (name, data) in entries)
            {
                output.PutNextEntry(new ZipEntry(name) { AESKeySize = aesBits, CompressionMethod = method });
                output.Write(data);
                output.CloseEntry();
            }
        }
        return zip.ToArray();
    }

    private static Stream Unseekable(Stream inner) => PipeWriter.Create(inner).AsStream();
}
