using System.Reflection;
using Microsoft.Data.SqlClient;

namespace HibpIngest.Testing;

/// <summary>Makes the driver's exceptions, which have no public constructor.</summary>
internal static class DriverErrors
{
    private const BindingFlags NonPublic = BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static;

    /// <summary>Makes a server error with these numbers.</summary>
    public static SqlException Sql(string message, params int[] numbers) => Sql(message, null, numbers);

    public static SqlException Sql(string message, Exception? inner, params int[] numbers)
    {
        var errors = (SqlErrorCollection)typeof(SqlErrorCollection).GetConstructor(NonPublic, [])!.Invoke([]);
        var constructor = typeof(SqlError).GetConstructors(NonPublic).OrderByDescending(one => one.GetParameters().Length).First(
            one => one.GetParameters()[0].Name == "infoNumber");
        foreach (var number in numbers)
        {
            var error = constructor.Invoke(Arguments(
                constructor, ("infoNumber", number), ("errorState", (byte)1), ("errorClass", (byte)(number == 0 ? 20 : 14)),
                ("errorMessage", message)));
            typeof(SqlErrorCollection).GetMethod("Add", NonPublic)!.Invoke(errors, [error]);
        }
        var create = typeof(SqlException).GetMethods(NonPublic).First(method => method.Name == "CreateException"
            && method.GetParameters().Select(parameter => parameter.ParameterType.Name).ToList()
                is [nameof(SqlErrorCollection), _, nameof(Guid), nameof(Exception), ..]);
        return (SqlException)create.Invoke(null, Arguments(create, ("errorCollection", errors), ("innerException", inner)))!;
    }

    /// <summary>Makes the exception with which the driver reports its own state.</summary>
    public static InvalidOperationException Invalid(string message, Exception? inner = null) =>
        new(message, inner) { Source = "Microsoft.Data.SqlClient" };

    /// <summary>Returns a call's arguments: the known ones, and empty values for all others.</summary>
    private static object?[] Arguments(MethodBase method, params (string Name, object? Value)[] known) =>
        [.. method.GetParameters().Select(parameter => known.FirstOrDefault(one => one.Name == parameter.Name).Value
            ?? (parameter.ParameterType == typeof(string) ? ""
                : parameter.ParameterType.IsValueType ? Activator.CreateInstance(parameter.ParameterType) : null))];
}
