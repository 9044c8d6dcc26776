using System.Reflection;
using System.Reflection.Emit;
using System.Text.Json.Nodes;
using Google.Protobuf;
using HibpIngest.Testing.Wire;
using Microsoft.Azure.WebJobs;
using Microsoft.Azure.WebJobs.Extensions.Storage.Blobs;
using Microsoft.Azure.WebJobs.Host;
using Microsoft.Azure.WebJobs.Host.Config;
using Microsoft.Azure.WebJobs.Host.Executors;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Testing;

/// <summary>The Functions host's own trigger listeners, with their receipts, batches, renewal, retries and poison queues.</summary>
internal sealed class TriggerListeners : IAsyncDisposable
{
    private readonly IHost _host;

    private TriggerListeners(IHost host) => _host = host;

    public static async Task<TriggerListeners> StartAsync(FunctionsHost host)
    {
        var built = new HostBuilder()
            .ConfigureAppConfiguration(configuration => configuration.AddInMemoryCollection(new Dictionary<string, string?>
            {
                ["AzureWebJobsStorage"] = host.Storage,
                ["BreachStorage"] = host.Storage,
            }))
            .ConfigureWebJobs(jobs => jobs
                .AddAzureStorageCoreServices()
                .AddAzureStorageBlobs(blobs => blobs.MaxDegreeOfParallelism = 1)
                .AddAzureStorageQueues(queues =>
                {
                    // As in host.json, except for the delays.
                    queues.BatchSize = 16;
                    queues.NewBatchThreshold = 8;
                    queues.MaxDequeueCount = 5;
                    queues.VisibilityTimeout = TimeSpan.FromSeconds(1);
                    queues.MaxPollingInterval = TimeSpan.FromMilliseconds(200);
                }))
            .ConfigureServices(services => services
                .AddSingleton<ITypeLocator>(new Functions(Emit(host.Worker.Triggers)))
                .AddSingleton<IJobActivator>(new Activator(host)))
            .Build();
        await built.StartAsync();
        return new TriggerListeners(built);
    }

    public async Task PostEventAsync(Uri blob, string container, string name)
    {
        var webhook = _host.Services.GetServices<IExtensionConfigProvider>()
            .OfType<IAsyncConverter<HttpRequestMessage, HttpResponseMessage>>().Single();
        using var request = new HttpRequestMessage(
            HttpMethod.Post, new Uri("http://localhost/runtime/webhooks/blobs?functionName=Host.Functions.IngestBreach"));
        EventGridEvents.Fill(request, blob, container, name);
        using var response = await webhook.ConvertAsync(request, CancellationToken.None);
        response.EnsureSuccessStatusCode();
    }

    public async ValueTask DisposeAsync()
    {
        try
        {
            await _host.StopAsync();
        }
        catch (InvalidOperationException e) when (e.Message == "The timer has already been stopped.")
        {
            // Seen once in many stops of Microsoft.Azure.WebJobs, from a listener that had already stopped: nothing listens any more.
        }
        _host.Dispose();
    }

    /// <summary>Emits a class with one method per trigger, as the Functions host does: bound data is passed on unread.</summary>
    private static Type Emit(IReadOnlyDictionary<string, JsonNode> triggers)
    {
        var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Host.Functions"), AssemblyBuilderAccess.RunAndCollect);
        var type = assembly.DefineDynamicModule("Host").DefineType(
            "Host.Functions", TypeAttributes.Public | TypeAttributes.Class, typeof(TriggeredFunctions));
        type.DefineDefaultConstructor(MethodAttributes.Public);
        var run = typeof(TriggeredFunctions).GetMethod(nameof(TriggeredFunctions.RunAsync))!;
        foreach (var (function, trigger) in triggers)
        {
            if (AttributeOf(trigger) is not { } attribute)
                continue;
            var method = type.DefineMethod(
                function, MethodAttributes.Public, typeof(Task), [typeof(ParameterBindingData), typeof(CancellationToken)]);
            method.SetCustomAttribute(new CustomAttributeBuilder(
                typeof(FunctionNameAttribute).GetConstructor([typeof(string)])!, [function]));
            method.DefineParameter(1, ParameterAttributes.None, (string)trigger["name"]!).SetCustomAttribute(attribute);
            method.DefineParameter(2, ParameterAttributes.None, "cancellationToken");
            var code = method.GetILGenerator();
            code.Emit(OpCodes.Ldarg_0);
            code.Emit(OpCodes.Ldstr, function);
            code.Emit(OpCodes.Ldarg_1);
            code.Emit(OpCodes.Ldarg_2);
            code.Emit(OpCodes.Call, run);
            code.Emit(OpCodes.Ret);
        }
        return type.CreateType();
    }

    private static CustomAttributeBuilder? AttributeOf(JsonNode trigger)
    {
        return ((string)trigger["type"]!).ToUpperInvariant() switch
        {
            "QUEUETRIGGER" => Of(typeof(QueueTriggerAttribute), (string)trigger["queueName"]!),
            "BLOBTRIGGER" => Of(
                typeof(BlobTriggerAttribute), (string)trigger["path"]!,
                (nameof(BlobTriggerAttribute.Source), Enum.Parse<BlobTriggerSource>((string?)trigger["source"] ?? "LogsAndContainerScan"))),
            _ => null,
        };

        CustomAttributeBuilder Of(Type type, string path, params (string Name, object Value)[] more)
        {
            (string Name, object Value)[] values = [("Connection", (string)trigger["connection"]!), .. more];
            return new CustomAttributeBuilder(
                type.GetConstructor([typeof(string)])!, [path], [.. values.Select(value => type.GetProperty(value.Name)!)],
                [.. values.Select(value => value.Value)]);
        }
    }

    private sealed class Functions(Type type) : ITypeLocator
    {
        public IReadOnlyList<Type> GetTypes() => [type];
    }

    private sealed class Activator(FunctionsHost host) : IJobActivator
    {
        public T CreateInstance<T>()
        {
            var instance = System.Activator.CreateInstance<T>();
            ((TriggeredFunctions)(object)instance!).Host = host;
            return instance;
        }
    }
}

/// <summary>Base of the class that <see cref="TriggerListeners"/> emits.</summary>
public abstract class TriggeredFunctions
{
    internal FunctionsHost? Host { get; set; }

    /// <summary>Runs a function of the worker; throws if it fails, so that the platform retries.</summary>
    public async Task RunAsync(string function, ParameterBindingData data, CancellationToken cancellationToken)
    {
        await Host!.Ready.WaitAsync(cancellationToken);
        var result = await Host.Worker.InvokeAsync(
            function, new TypedData
            {
                ModelBindingData = new BindingData
                {
                    Version = data.Version,
                    Source = data.Source,
                    ContentType = data.ContentType,
                    Content = ByteString.CopyFrom(data.Content),
                },
            },
            cancellationToken);
        if (!result.Succeeded)
            throw new InvalidOperationException(result.Error);
    }
}
