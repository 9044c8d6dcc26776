#!/usr/bin/env pwsh
#Requires -Version 7.0
<#
.SYNOPSIS
Takes a deployment up before a large load, and down to what was deployed after it; says what either costs an hour.
.DESCRIPTION
up: the database, the limit of instances, their memory with the dedupe cap, and their concurrency, to the values of the parameters. down: back to the values of the last deployment
(infra/deploy.ps1). show: what is in force, and what it costs an hour.
The web app scales by itself, within the limits of the last deployment (web... in the .bicepparam files), and isn't changed.
Loads may be running: connections that break at the moment of the change are taken up again. Changing the concurrency restarts the app.
A load keeps the dedupe cap that it began with: take memory away only when none is being copied.
Prices are asked of the public Azure Retail Prices API for the deployment's region, in US dollars, without discounts.
.PARAMETER Group
Resource group.
.PARAMETER Name
What names begin with.
.PARAMETER VCores
Most vCores of the database.
.PARAMETER Instances
Most instances.
.PARAMETER Memory
MB of an instance.
.PARAMETER Batch
Messages an instance takes at a time.
.EXAMPLE
infra/scale.ps1 up -Group hibp
#>
[CmdletBinding()]
param(
    [Parameter(Mandatory, Position = 0)][ValidateSet('up', 'down', 'show')][string] $What,
    [Parameter(Mandatory)][string] $Group,
    [ValidatePattern('^[a-z0-9]{3,11}$')][string] $Name = 'hibp',
    [ValidateSet(1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 32, 40, 80)][int] $VCores = 40,
    [ValidateRange(10, 1000)][int] $Instances = 100,
    [ValidateSet(512, 2048, 4096)][int] $Memory = 4096,
    [ValidateRange(1, 32)][int] $Batch = 16
)

$ErrorActionPreference = 'Stop'
[cultureinfo]::CurrentCulture = [cultureinfo]::InvariantCulture

function Stop-Script([string] $Message) {
    [Console]::Error.WriteLine("scale: $Message")
    exit 1
}

# Runs az and stops the script when it fails; what it printed is the answer.
function Invoke-Az {
    $answer = & az @args
    if ($LASTEXITCODE -ne 0) {
        Stop-Script "az $($args[0..2] -join ' ') failed (see above)"
    }
    return $answer
}

function Get-Deployed([string] $Property) {
    return Invoke-Az deployment group show -g $Group -n "$Name-main" --query "properties.$Property.value" -o tsv
}

if (-not (Get-Command az -ErrorAction SilentlyContinue)) {
    Stop-Script 'the Azure CLI (az) is missing: https://learn.microsoft.com/cli/azure/install-azure-cli'
}
& az account show -o none 2>$null
if ($LASTEXITCODE -ne 0) {
    Stop-Script 'nobody is signed in: az login, then az account set --subscription NAME'
}

$app = Get-Deployed outputs.appName
$server = Get-Deployed outputs.sqlServerName
$database = Get-Deployed outputs.sqlDatabaseName
if (-not $app) {
    Stop-Script "no deployment '$Name-main' in resource group '$Group': infra/deploy.ps1 makes it"
}

# The least that a serverless database of so many vCores can be given: half a core up to four, an eighth beyond.
$minimum = [Math]::Max(0.5, $VCores / 8)
# Accounts remembered for dedupe, by the MB of an instance, as main.bicep has them.
$dedupeCaps = @{
    512 = 2000000
    2048 = 25000000
    4096 = 50000000
}
$cap = 0
if ($What -eq 'down') {
    $VCores = Get-Deployed parameters.sqlMaxVCores
    $minimum = Get-Deployed parameters.sqlMinVCores
    $Instances = Get-Deployed parameters.maximumInstanceCount
    $Memory = Get-Deployed parameters.instanceMemoryMB
    $Batch = Get-Deployed parameters.queueBatchSize
    $cap = [long](Get-Deployed parameters.dedupeCap)
}
if ($cap -eq 0) {
    $cap = $dedupeCaps[$Memory]
}
if ($What -ne 'show') {
    $pause = Get-Deployed parameters.sqlAutoPauseMinutes
    Write-Host "database ${database}: at most $VCores vCores, at least $minimum"
    Invoke-Az sql db update -g $Group -s $server -n $database --edition GeneralPurpose --family Gen5 --compute-model Serverless --capacity $VCores --min-capacity $minimum --auto-pause-delay $pause -o none
    $instancesStep = {
        Write-Host "app ${app}: at most $Instances instances of $Memory MB"
        Invoke-Az functionapp scale config set -g $Group -n $app --maximum-instance-count $Instances --instance-memory $Memory -o none
    }
    $settingsStep = {
        Write-Host "app ${app}: $Batch messages at a time and instance, $cap accounts remembered for dedupe"
        $threshold = [Math]::Floor($Batch / 2)
        Invoke-Az functionapp config appsettings set -g $Group -n $app -o none --settings "AzureFunctionsJobHost__extensions__queues__batchSize=$Batch" "AzureFunctionsJobHost__extensions__queues__newBatchThreshold=$threshold" "HIBP_DEDUPECAP=$cap"
    }
    # No load may begin with a cap that its instance can't hold.
    $present = [int](Invoke-Az functionapp scale config show -g $Group -n $app --query instanceMemoryMB -o tsv)
    $steps = if ($Memory -lt $present) { @($settingsStep, $instancesStep) } else { @($instancesStep, $settingsStep) }
    foreach ($step in $steps) {
        & $step
    }
}

$sql = Invoke-Az sql db show -g $Group -s $server -n $database -o json | ConvertFrom-Json
$scale = Invoke-Az functionapp scale config show -g $Group -n $app -o json | ConvertFrom-Json
$region = Invoke-Az sql server show -g $Group -n $server --query location -o tsv

# learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices: the dearest, as the free amount is a price of its own.
function Get-Price([string] $Filter) {
    $query = [uri]::EscapeDataString("armRegionName eq '$region' and priceType eq 'Consumption' and $Filter")
    try {
        $answer = Invoke-RestMethod -Uri "https://prices.azure.com/api/retail/prices?`$filter=$query" -TimeoutSec 20
        return ($answer.Items | Measure-Object -Property unitPrice -Maximum).Maximum
    }
    catch {
        return $null
    }
}

$vcoreHour = Get-Price "serviceName eq 'SQL Database' and productName eq 'SQL Database General Purpose - Serverless - Compute Gen5' and skuName eq '1 vCore' and meterName eq 'vCore'"
$gbSecond = Get-Price "serviceName eq 'Functions' and productName eq 'Flex Consumption' and skuName eq 'On Demand' and meterName eq 'On Demand Execution Time'"
$most = $sql.sku.capacity
$least = $sql.minCapacity
$count = $scale.maximumInstanceCount
$gb = $scale.instanceMemoryMB / 1024

Write-Host ''
Write-Host "In $region, an hour:"
if ($vcoreHour) {
    Write-Host ('  database   {0,8:0.00} USD with all {1} vCores busy, {2:0.00} awake and idle ({3} vCores), 0 paused: vCores x {4}' -f ($most * $vcoreHour), $most, ($least * $vcoreHour), $least, $vcoreHour)
}
else {
    Write-Host "  database   vCores in use (at least $least while awake, at most $most) x price of a vCore hour: https://azure.microsoft.com/pricing/details/azure-sql-database/single/"
}
if ($gbSecond) {
    Write-Host ('  functions  {0,8:0.00} USD with all {1} instances busy, 0 idle: instances x {2:0.0} GB x 3600 s x {3}' -f ($count * $gb * 3600 * $gbSecond), $count, $gb, $gbSecond)
}
else {
    Write-Host "  functions  instances at work (at most $count) x $gb GB x 3600 x price of a GB-second: https://azure.microsoft.com/pricing/details/functions/"
}
Write-Host "  beside storage, transactions and telemetry, which don't depend on this"
