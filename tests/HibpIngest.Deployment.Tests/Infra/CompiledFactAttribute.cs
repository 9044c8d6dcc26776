namespace HibpIngest.Deployment.Tests.Infra;

/// <summary>A test that needs the Bicep compiler; the project file says when it is left out.</summary>
internal sealed class CompiledFactAttribute : FactAttribute
{
    public CompiledFactAttribute() => Skip = BicepFiles.CanCompile ? null : "needs Bicep's compiler";
}
