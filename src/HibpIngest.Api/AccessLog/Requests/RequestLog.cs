using System.Collections.Frozen;

namespace HibpIngest.Api.AccessLog.Requests;

internal sealed class RequestLog
{
    public const string NoRoute = "(none)";

    private readonly IAccessLog _log;
    private readonly FrozenDictionary<string, ushort> _numbers;
    private readonly TimeProvider _time;

    public RequestLog(IAccessLog log, ApiOptions options, TimeProvider time, IServiceProvider services)
    {
        (_log, IsAllDurable, _time) = (log, options.IsAllDurable, time);
        _numbers = TemplatesOf(ApiRoute.AllOf(services)).Index().ToFrozenDictionary(
            one => one.Item, one => (ushort)one.Index, StringComparer.Ordinal);
    }

    public bool IsAllDurable { get; }

    /// <summary>Returns the templates that the access log must be opened with: records name a route by its index.</summary>
    public static IReadOnlyList<string> TemplatesOf(IEnumerable<ApiRoute> routes) =>
        [NoRoute, .. routes.Select(route => route.Template).Distinct(StringComparer.Ordinal)];

    public RequestEntry Begin(HttpContext context, long started)
    {
        var entry = new RequestEntry(this, context, started);
        context.Features.Set(entry);
        return entry;
    }

    public ValueTask AppendAsync(RequestEntry entry, string? template) => _log.AppendAsync(RecordOf(entry, template));

    public void Add(RequestEntry entry, string? template) => _log.Add(RecordOf(entry, template));

    private AccessRecord RecordOf(RequestEntry entry, string? template)
    {
        var (request, response) = (entry.Context.Request, entry.Context.Response);
        var microseconds = _time.GetElapsedTime(entry.Started).TotalMicroseconds;
        return new AccessRecord(
            (_time.GetUtcNow() - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond,
            microseconds < uint.MaxValue ? (uint)microseconds : uint.MaxValue, BytesOf(request, response), entry.Key,
            _numbers.GetValueOrDefault(template ?? NoRoute), (ushort)response.StatusCode, ClientKinds.Of(UserAgent.Of(request)));
    }

    private static uint BytesOf(HttpRequest request, HttpResponse response) =>
        HttpMethods.IsHead(request.Method) || response.StatusCode is StatusCodes.Status204NoContent or StatusCodes.Status304NotModified ? 0
        : response.ContentLength is { } length ? (uint)Math.Min(length, AccessRecord.UnknownBytes - 1L)
        : response.ContentType is null ? 0 : AccessRecord.UnknownBytes;
}
