using System.Collections.Immutable;
using HibpIngest.Functions;
using Microsoft.Azure.Functions.Worker;
using Microsoft.Extensions.Hosting.Internal;

namespace HibpIngest.Tests.Functions;

public sealed class InvocationGuardTests
{
    private const string Address = "somebody@example.com";

    private readonly CollectingLogger _log = new();
    private readonly SettingsErrors _settings = new();
    private readonly ApplicationLifetime _lifetime = new(NullLogger<ApplicationLifetime>.Instance);

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
        _lifetime.StopApplication();
        Assert.True(token.IsCancellationRequested);
        var stop = guard.StopAsync(CancellationToken.None);
        Assert.False(stop.IsCompleted);
        end.SetResult();
        await running;
        await stop;
    }

    private InvocationGuard Guard() => new(_settings, _lifetime, _log.For<InvocationGuard>());

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

        public override ImmutableArray<FunctionParameter> Parameters => [];

        public override IImmutableDictionary<string, BindingMetadata> InputBindings => ImmutableDictionary<string, BindingMetadata>.Empty;

        public override IImmutableDictionary<string, BindingMetadata> OutputBindings => InputBindings;
    }
}
