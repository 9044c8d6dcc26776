using Azure;
using Azure.Core;
using Azure.Core.Pipeline;
using Azure.Data.Tables;
using Azure.Storage.Blobs;
using Azure.Storage.Queues;
using Azure.Storage.Queues.Models;
using Ionic.Zip;
using Microsoft.Data.Sqlite;

namespace HibpIngest.Benchmarks.Peers;

/// <summary>
/// The pipeline that Have I Been Pwned described (troyhunt.com, "Working with 154 million records on Azure Table Storage"), as most people
/// would write it with today's libraries, in one process: lines of the zip by DotNetZip, addresses by a generated Regex and a HashSet, rows
/// in transactions of 20,000, a message for each 10,000 rows, and 32 workers that write each account by itself.
/// </summary>
/// <remarks>
/// It is given what helps it: it begins with the upload, without waiting for a trigger, has no checkpoints, and its workers share all rows
/// of all messages, so that few messages keep 32 of them busy.
/// </remarks>
internal sealed partial class PublishedPipeline : IDisposable
{
    private const int BatchRows = 20_000;
    private const int SliceRows = 10_000;
    private const int Workers = 32;
    private static readonly TimeSpan NoMessage = TimeSpan.FromMilliseconds(100);

    private readonly RequestCounter _requests = new();
    private readonly SemaphoreSlim _workers = new(Workers);
    private readonly BlobContainerClient _blobs;
    private readonly QueueClient _queue;
    private readonly TableClient _table;
    private readonly string _database;
    private int _sent;
    private int _done;

    private PublishedPipeline(string connection, string folder)
    {
        _database = $"Data Source={Path.Combine(folder, "peer.db")}";
        _blobs = new BlobContainerClient(connection, "peer");
        _queue = new QueueClient(connection, "peer-slices");
        var options = new TableClientOptions();
        options.AddPolicy(_requests, HttpPipelinePosition.PerRetry);
        _table = new TableClient(connection, "accounts", options);
    }

    /// <summary>
    /// Loads one zip after the other, and reports of the last: seconds from the upload until all rows are copied and until all accounts are
    /// written, requests to tables, seconds of CPU here and in the emulator, and the peak memory in MiB.
    /// </summary>
    /// <param name="emulator">Its process.</param>
    public static async Task ChildAsync(string connection, int emulator, string folder, string[] zips)
    {
        using var pipeline = new PublishedPipeline(connection, folder);
        await pipeline.CreateAsync();
        for (var i = 0; i < zips.Length; i++)
        {
            var (requests, own, emulators) =
                (pipeline._requests.Count, new ProcessCpu(Environment.ProcessId), new ProcessCpu(emulator));
            var began = Stopwatch.GetTimestamp();
            var copied = await pipeline.LoadAsync($"Breach{i}", zips[i]);
            if (i == zips.Length - 1)
            {
                MeasuredChild.Report(
                    Stopwatch.GetElapsedTime(began, copied).TotalSeconds, Stopwatch.GetElapsedTime(began).TotalSeconds,
                    pipeline._requests.Count - requests, own.Seconds, emulators.Seconds, MeasuredChild.PeakMiB());
            }
        }
    }

    public void Dispose() => _workers.Dispose();

    [GeneratedRegex(@"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}", RegexOptions.None, matchTimeoutMilliseconds: 1_000)]
    internal static partial Regex Address();

    private async Task CreateAsync()
    {
        await _blobs.CreateIfNotExistsAsync();
        await _queue.CreateIfNotExistsAsync();
        await _table.CreateIfNotExistsAsync();
        await using var connection = new SqliteConnection(_database);
        connection.Open();
        await using var create = connection.CreateCommand();
        create.CommandText =
            "PRAGMA journal_mode = WAL; CREATE TABLE rows (id INTEGER PRIMARY KEY, breach TEXT NOT NULL, email TEXT NOT NULL)";
        create.ExecuteNonQuery();
    }

    /// <summary>Returns when all rows were copied, as a timestamp of <see cref="Stopwatch"/>.</summary>
    private async Task<long> LoadAsync(string breach, string zip)
    {
        (_sent, _done) = (0, 0);
        await using (var content = File.OpenRead(zip))
            await _blobs.UploadBlobAsync($"{breach}.zip", content);
        var copied = 0L;
        var copying = Task.Run(async () =>
        {
            await CopyAsync(breach);
            copied = Stopwatch.GetTimestamp();
        });
        var slices = new List<Task>();
        while (!copying.IsCompleted || Volatile.Read(ref _done) < Volatile.Read(ref _sent))
        {
            QueueMessage[] messages = await _queue.ReceiveMessagesAsync(maxMessages: 32, visibilityTimeout: TimeSpan.FromMinutes(30));
            foreach (var message in messages)
                slices.Add(HandleAsync(message));
            if (messages.Length == 0)
                await Task.WhenAny(Task.Delay(NoMessage), Task.WhenAll([copying, .. slices]));
            if (slices.Find(slice => slice.IsFaulted) is { } failed)
                await failed;
        }
        await copying;
        await Task.WhenAll(slices);
        return copied;
    }

    private async Task CopyAsync(string breach)
    {
        await using var blob = await _blobs.GetBlobClient($"{breach}.zip").OpenReadAsync();
        using var zip = ZipFile.Read(blob);
        await using var connection = new SqliteConnection(_database);
        connection.Open();
        var known = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        var batch = new List<string>(BatchRows);
        foreach (var entry in zip.Entries.Where(entry => !entry.IsDirectory))
        {
            using var reader = new StreamReader(entry.OpenReader(), Encoding.UTF8);
            while (await reader.ReadLineAsync() is { } line)
            {
                if (Address().Match(line) is not { Success: true } match || !known.Add(match.Value))
                    continue;
                batch.Add(match.Value.ToLowerInvariant());
                if (batch.Count == BatchRows)
                    await InsertAsync(connection, breach, batch);
            }
        }
        if (batch.Count > 0)
            await InsertAsync(connection, breach, batch);
    }

    private async Task InsertAsync(SqliteConnection connection, string breach, List<string> batch)
    {
        long last;
        await using (var transaction = connection.BeginTransaction())
        await using (var insert = connection.CreateCommand())
        {
            insert.CommandText = "INSERT INTO rows (breach, email) VALUES ($breach, $email) RETURNING id";
            insert.Parameters.AddWithValue("$breach", breach);
            var email = insert.Parameters.Add("$email", SqliteType.Text);
            insert.Prepare();
            last = 0;
            foreach (var row in batch)
            {
                email.Value = row;
                last = (long)insert.ExecuteScalar()!;
            }
            transaction.Commit();
        }
        for (var first = last - batch.Count + 1; first <= last; first += SliceRows)
        {
            Interlocked.Increment(ref _sent);
            await _queue.SendMessageAsync($"{first} {Math.Min(first + SliceRows - 1, last)}");
        }
        batch.Clear();
    }

    private async Task HandleAsync(QueueMessage message)
    {
        var rows = new List<(string Breach, string Email)>(SliceRows);
        await using (var connection = new SqliteConnection(_database))
        {
            connection.Open();
            await using var select = connection.CreateCommand();
            select.CommandText = "SELECT breach, email FROM rows WHERE id BETWEEN $first AND $last";
            var range = message.MessageText.Split(' ');
            select.Parameters.AddWithValue("$first", long.Parse(range[0]));
            select.Parameters.AddWithValue("$last", long.Parse(range[1]));
            await using var reader = await select.ExecuteReaderAsync();
            while (await reader.ReadAsync())
                rows.Add((reader.GetString(0), reader.GetString(1)));
        }
        await Parallel.ForEachAsync(
            rows, new ParallelOptions { MaxDegreeOfParallelism = Workers }, async (row, cancellationToken) =>
        {
            await _workers.WaitAsync(cancellationToken);
            try
            {
                await UpsertAsync(row.Breach, row.Email, cancellationToken);
            }
            finally
            {
                _workers.Release();
            }
        });
        await _queue.DeleteMessageAsync(message.MessageId, message.PopReceipt);
        Interlocked.Increment(ref _done);
    }

    private async Task UpsertAsync(string breach, string email, CancellationToken cancellationToken)
    {
        var at = email.IndexOf('@', StringComparison.Ordinal);
        var (alias, domain) = (email[..at], email[(at + 1)..]);
        try
        {
            await _table.AddEntityAsync(new TableEntity(domain, alias) { ["Breaches"] = breach }, cancellationToken);
        }
        catch (RequestFailedException e) when (e.Status == 409)
        {
            TableEntity known = await _table.GetEntityAsync<TableEntity>(domain, alias, cancellationToken: cancellationToken);
            known["Breaches"] = $"{known.GetString("Breaches")};{breach}";
            await _table.UpdateEntityAsync(known, known.ETag, cancellationToken: cancellationToken);
        }
    }

    private sealed class RequestCounter : HttpPipelineSynchronousPolicy
    {
        private long _count;

        public long Count => Interlocked.Read(ref _count);

        public override void OnSendingRequest(HttpMessage message) => Interlocked.Increment(ref _count);
    }
}
