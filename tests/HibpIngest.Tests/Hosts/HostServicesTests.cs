using System.Collections;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Tests.Hosts;

public sealed class HostServicesTests
{
    [Fact]
    public async Task Every_registered_service_can_be_resolved()
    {
        using var folder = new TemporaryFolder();
        var services = Add(
            folder, ("HIBP_STORAGE_2", "UseDevelopmentStorage=true"), ("HIBP_JOURNAL_STORAGE", "UseDevelopmentStorage=true"));
        await using var provider = services.BuildServiceProvider(
            new ServiceProviderOptions { ValidateOnBuild = true, ValidateScopes = true });
        foreach (var service in services.Where(service => !service.ServiceType.IsGenericTypeDefinition && !service.IsKeyedService))
            Assert.NotNull(provider.GetRequiredService(service.ServiceType));
        Assert.Same(provider.GetRequiredService<IBreachDatabase>(), provider.GetRequiredService<ILoads>());
        Assert.Same(provider.GetRequiredService<IStoreRegister>(), provider.GetRequiredService<IWorkRegister>());
        Assert.NotSame(provider.GetRequiredService<IStoreRegister>(), provider.GetRequiredService<IHeartbeats>());
    }

    [Theory]
    [InlineData("HIBP_MAIL", "carrier pigeon")]
    [InlineData("HIBP_STORAGE", "AccountName=only")]
    public void Invalid_connection_and_mail_settings_are_rejected_at_startup(string variable, string value)
    {
        using var folder = new TemporaryFolder();
        Assert.Throws<WrongSettingsException>(() => Add(folder, (variable, value)).OpenHibp());
    }

    [Fact]
    public void Every_wrong_connection_and_key_is_reported_with_its_setting()
    {
        using var folder = new TemporaryFolder();
        var connections = Assert.Throws<WrongSettingsException>(
            () => Add(folder, ("HIBP_STORAGE_2", "AccountName=only"), ("HIBP_JOURNAL_STORAGE", "AccountName=only")));
        Assert.Equal(["HIBP_JOURNAL_STORAGE", "HIBP_STORAGE_2"], connections.Messages.Select(message => message.Split(':')[0]));
        var keys = Assert.Throws<WrongSettingsException>(
            () => Add(folder, ("HIBP_SECRET_KEY", "short"), ("HIBP_SUPPRESSION_KEY", "short")).OpenHibp());
        Assert.Equal(["HIBP_SECRET_KEY", "HIBP_SUPPRESSION_KEY"], keys.Messages.Select(message => message.Split(':')[0]));
    }

    private static IServiceCollection Add(TemporaryFolder folder, params (string Name, string Value)[] variables)
    {
        var environment = new Hashtable { ["HIBP_HOME"] = folder.Path };
        foreach (var (name, value) in variables)
            environment[name] = value;
        return new ServiceCollection().AddHibp(PipelineSettings.Read(null, null, environment));
    }
}
