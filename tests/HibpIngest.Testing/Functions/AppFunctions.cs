using System.Reflection;
using HibpIngest.Functions;
using HibpIngest.Functions.Api;
using Microsoft.Azure.Functions.Worker;
using Microsoft.Azure.Functions.Worker.Extensions.Abstractions;

namespace HibpIngest.Testing;

/// <summary>The functions of both apps and their triggers, as declared in code.</summary>
internal static class AppFunctions
{
    public static IReadOnlyDictionary<string, TriggerBindingAttribute> Pipeline { get; } = Of(typeof(IngestBreachFunction).Assembly);

    public static IReadOnlyDictionary<string, TriggerBindingAttribute> Api { get; } = Of(typeof(WebFunction).Assembly);

    public static Dictionary<string, string> Of<T>(Func<T, string> what)
        where T : TriggerBindingAttribute =>
        Pipeline.Where(function => function.Value is T).ToDictionary(function => function.Key, function => what((T)function.Value));

    private static Dictionary<string, TriggerBindingAttribute> Of(Assembly assembly) =>
        (from type in assembly.GetExportedTypes()
         from method in type.GetMethods()
         let function = method.GetCustomAttribute<FunctionAttribute>()
         where function is not null
         select (function.Name, Trigger: method.GetParameters().SelectMany(
             parameter => parameter.GetCustomAttributes<TriggerBindingAttribute>()).Single()))
        .ToDictionary(function => function.Name, function => function.Trigger);
}
