using HibpIngest.Functions;
using HibpIngest.Hosting;
using Microsoft.Azure.Functions.Worker;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Tests.Functions;

/// <summary>Tests the failures that invocations of a Functions app report, and what its shutdown waits for.</summary>
public sealed class InvocationGuardTests
{
    private const string Address = "somebody@example.com";

    private readonly CollectingLogger _log = new();
    private readonly SettingsErrors _settings = new();
    private readonly Lifetime _lifetime = new();

    public static TheoryData<Exception, string> Thrown => new()
    {
        { new UnavailableException("the store\r\nis down"), "UpsertSlice failed: the store is down" },
        { new InvalidOperationException(Address), "UpsertSlice failed: unexpected InvalidOperationException" },
        { new AggregateException(new IOException(Address)), "UpsertSlice failed: unexpected AggregateException" },
        // The worker doesn't respond after a fatal exception, and its host would wait forever.
        { new OutOfMemoryException(Address), "UpsertSlice failed: unexpected OutOfMemoryException" },
        { new OperationCanceledException(Address), "UpsertSlice failed: stopped before its work was done; the next attempt resumes it" },
    };

    [Theory]
    [MemberData(nameof(Thrown))]
    public async Task Exceptions_become_one_line_failures_without_stack_or_inner_exception(Exception thrown, string expected)
    {
        var failure = await Assert.ThrowsAsync<InvocationFailedException>(
            () => Guard().Invoke(new Context("UpsertSlice"), _ => throw thrown));
        Assert.Equal((expected, null, null), (failure.Message, failure.StackTrace, failure.InnerException));
        Assert.DoesNotContain(Address, failure.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain(_log.Lines, line => line.Text.Contains('@', StringComparison.Ordinal));
        Assert.Contains(_log.Lines, line => line.Event == 9040);
    }

    [Fact]
    public async Task Wrong_settings_fail_every_function_except_Health_before_it_runs()
    {
        _settings.Add("HIBP_MAIL is wrong");
        var ran = new List<string>();
        var failure = await Assert.ThrowsAsync<InvocationFailedException>(() => Guard().Invoke(new Context("Sweep"), RunAsync));
        Assert.Equal("Sweep failed: HIBP_MAIL is wrong", failure.Message);
        await Guard().Invoke(new Context("Health"), RunAsync);
        Assert.Equal(["Health"], ran);

        Task RunAsync(FunctionContext context)
        {
            ran.Add(context.FunctionDefinition.Name);
            return Task.CompletedTask;
        }
    }

    [Fact]
    public async Task StopAsync_cancels_running_invocations_and_waits_for_them()
    {
        var guard = Guard();
        var end = new TaskCompletionSource();
        var token = CancellationToken.None;
        var running = guard.Invoke(new Context("UpsertSlice"), async context =>
        {
            token = (CancellationToken)context.Items[typeof(CancellationToken)];
            await end.Task;
        });
        Assert.False(token.IsCancellationRequested);
        await _lifetime.Stopping.CancelAsync();
        Assert.True(token.IsCancellationRequested);
        var stop = guard.StopAsync(CancellationToken.None);
        Assert.False(stop.IsCompleted);
        end.SetResult();
        await running;
        await stop;
    }

    private InvocationGuard Guard() => new(_settings, _lifetime, new Logger<InvocationGuard>(new LoggerFactory([new Provider(_log)])));

    private sealed class Provider(ILogger log) : ILoggerProvider
    {
        public ILogger CreateLogger(string categoryName) => log;

        public void Dispose()
        {
        }
    }

    private sealed class Lifetime : IHostApplicationLifetime
    {
        public CancellationTokenSource Stopping { get; } = new();

        public CancellationToken ApplicationStarted => CancellationToken.None;

        public CancellationToken ApplicationStopping => Stopping.Token;

        public CancellationToken ApplicationStopped => CancellationToken.None;

        public void StopApplication() => Stopping.Cancel();
    }

    private sealed class Context(string function) : FunctionContext
    {
        public override string InvocationId { get; } = Guid.NewGuid().ToString();

        public override string FunctionId => function;

        public override FunctionDefinition FunctionDefinition => new Definition(function);

        public override IDictionary<object, object> Items { get; set; } = new Dictionary<object, object>();

        public override TraceContext TraceContext => throw new NotSupportedException();

        public override BindingContext BindingContext => throw new NotSupportedException();

        public override RetryContext RetryContext => throw new NotSupportedException();

        public override IServiceProvider InstanceServices { get; set; } = null!;

        public override IInvocationFeatures Features => throw new NotSupportedException();
    }

    private sealed class Definition(string name) : FunctionDefinition
    {
        public override string Name => name;

        public override string Id => name;

        public override string PathToAssembly => "";

        public override string EntryPoint => "";

        public override System.Collections.Immutable.ImmutableArray<FunctionParameter> Parameters => [];

        public override System.Collections.Immutable.IImmutableDictionary<string, BindingMetadata> InputBindings =>
            System.Collections.Immutable.ImmutableDictionary<string, BindingMetadata>.Empty;

        public override System.Collections.Immutable.IImmutableDictionary<string, BindingMetadata> OutputBindings => InputBindings;
    }
}
