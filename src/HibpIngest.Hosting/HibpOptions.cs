using System.Reflection;
using HibpIngest.Api.Settings;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using HibpIngest.Pipeline.Settings;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Options;

namespace HibpIngest.Hosting;

/// <summary>Registers the options that HIBP_ variables set.</summary>
public static class HibpOptions
{
    public const string Prefix = "HIBP_";

    /// <summary>Adds all options classes, bound from the variables and validated at host start, or when they are first read.</summary>
    /// <param name="variables">Their names have no prefix.</param>
    public static IServiceCollection AddHibpOptions(this IServiceCollection services, IConfiguration variables) => services
        .Add<IngestOptions>(variables).Add<UpsertOptions>(variables)
        .Add<MailOptions>(variables, mail => MailFrom.Parse(mail.MailFrom))
        .Add<CallbackOptions>(variables).Add<JournalOptions>(variables).Add<RetryOptions>(variables)
        .Add<SiteOptions>(variables, site => site.WebUrl = WebAddress.ParseBase(Prefix + PipelineSettings.WebUrlVariable, site.WebUrl))
        .Add<SweepOptions>(variables).Add<WebOptions>(variables).Add<PasswordOptions>(variables);

    public static string VariableOf(PropertyInfo property) => new OptionVariable(property).Name;

    private static IServiceCollection Add<T>(this IServiceCollection services, IConfiguration variables, Func<T, object>? check = null)
        where T : class
    {
        var binder = new OptionBinder<T>(variables, check);
        services.AddOptions<T>().ValidateOnStart();
        return services.AddSingleton<IConfigureOptions<T>>(binder).AddSingleton<IValidateOptions<T>>(binder)
            .AddSingleton<IOptions<object>>(provider => provider.GetRequiredService<IOptions<T>>());
    }

    /// <param name="check">Checks what no attribute covers, or completes a value; throws for an invalid one.</param>
    private sealed class OptionBinder<T>(IConfiguration variables, Func<T, object>? check) : IConfigureOptions<T>, IValidateOptions<T>
        where T : class
    {
        private readonly IReadOnlyList<OptionVariable> _options = OptionVariable.Of(typeof(T));

        public void Configure(T options)
        {
            // Validate reports the values that can't be parsed.
            var unread = new SettingsErrors();
            foreach (var option in _options)
            {
                if (unread.Try(() => option.Read(variables)) is { } value)
                    option.Set(options, value);
            }
        }

        public ValidateOptionsResult Validate(string? name, T options)
        {
            var errors = new SettingsErrors();
            foreach (var option in _options)
            {
                errors.Try(() => option.Read(variables));
                foreach (var error in option.Check(options))
                    errors.Add(error);
            }
            errors.Try(() => check?.Invoke(options));
            return errors.Messages.Count == 0 ? ValidateOptionsResult.Success : ValidateOptionsResult.Fail(errors.Messages);
        }
    }
}
