#!/usr/bin/env bash
# Scales a deployment up before a large load, and back to the deployed values after it. Prints the cost of an
# hour.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'END'
Usage: infra/scale.sh up|down|show --group GROUP [options]

  up                      set the database's vCores, and the number, memory, dedupe cap and concurrency of instances, to the
                          values below
  down                    restore the values of the last deployment (infra/deploy.sh)
  show                    print the current values and the cost of an hour

  -g, --group GROUP       resource group
  -n, --name NAME         prefix of all names (default hibp)
      --vcores N          maximum vCores of the database: 1, 2, 4, 6, ... 20, 24, 32, 40 or 80 (up: default 40)
      --instances N       maximum number of instances, 10 to 1000 (up: default 100)
      --memory MB         memory of an instance: 512, 2048 or 4096 (up: default 4096)
      --batch N           messages that an instance fetches at a time, 1 to 32 (up: default 16)
  -h, --help              show this help

The web app is not changed: it scales by itself, within the limits of the last deployment (web... in the .bicepparam files).
Loads may be running: connections that the change interrupts are retried. Changing the concurrency restarts the app.
A load keeps the dedupe cap that it began with, so reduce memory only when no load is being copied.
Prices come from the public Azure Retail Prices API, for the deployment's region, in US dollars, without discounts.
END
}

fail() { printf 'scale: %s\n' "$*" >&2; exit 1; }

[ $# -gt 0 ] || { usage >&2; exit 1; }
what=$1
case $what in
  -h | --help) usage; exit 0 ;;
  up | down | show) shift ;;
  *) fail "expected up, down or show, found '$what' (see --help)" ;;
esac

group='' name=hibp vcores=40 instances=100 memory=4096 batch=16
while [ $# -gt 0 ]; do
  option=$1
  case $option in
    -h | --help) usage; exit 0 ;;
    -g | --group | -n | --name | --vcores | --instances | --memory | --batch) [ $# -gt 1 ] || fail "$option requires a value (see --help)" ;;
    *) fail "unknown option '$option' (see --help)" ;;
  esac
  case $option in
    -g | --group) group=$2 ;;
    -n | --name) name=$2 ;;
    --vcores) vcores=$2 ;;
    --instances) instances=$2 ;;
    --memory) memory=$2 ;;
    --batch) batch=$2 ;;
  esac
  shift 2
done

[ -n "$group" ] || fail "--group is required (see --help)"
for number in "$vcores" "$instances" "$memory" "$batch"; do
  [[ $number =~ ^[0-9]+$ ]] || fail "expected a whole number, found '$number'"
done
if [ "$instances" -lt 10 ] || [ "$instances" -gt 1000 ]; then fail "--instances: expected 10 to 1000, found $instances"; fi
if [ "$batch" -lt 1 ] || [ "$batch" -gt 32 ]; then fail "--batch: expected 1 to 32, found $batch"; fi
case $memory in 512 | 2048 | 4096) ;; *) fail "--memory: expected 512, 2048 or 4096, found $memory" ;; esac
case $vcores in 1 | 2 | 4 | 6 | 8 | 10 | 12 | 14 | 16 | 18 | 20 | 24 | 32 | 40 | 80) ;; *) fail "--vcores: expected 1, 2, 4, 6, ... 20, 24, 32, 40 or 80, found $vcores" ;; esac

command -v az >/dev/null || fail "the Azure CLI (az) is not installed: https://learn.microsoft.com/cli/azure/install-azure-cli"
az account show -o none 2>/dev/null || fail "not signed in to Azure: run az login, then az account set --subscription NAME"

deployed() { az deployment group show -g "$group" -n "$name-main" --query "properties.$1.value" -o tsv; }
app=$(deployed outputs.appName 2>/dev/null) || fail "no deployment '$name-main' in resource group '$group': run infra/deploy.sh first"
server=$(deployed outputs.sqlServerName)
database=$(deployed outputs.sqlDatabaseName)

# Prints the minimum vCores of a serverless database by its maximum: 0.5 for up to four, an eighth of the
# maximum beyond.
least() { awk -v n="$1" 'BEGIN { m = n / 8; print m < 0.5 ? 0.5 : m }'; }

# Prints the dedupe cap by the memory of an instance in MB. main.bicep has the same values.
dedupe_cap() {
  case $1 in
    512) echo 2000000 ;;
    2048) echo 25000000 ;;
    4096) echo 50000000 ;;
  esac
}

cap=0
if [ "$what" = down ]; then
  vcores=$(deployed parameters.sqlMaxVCores)
  instances=$(deployed parameters.maximumInstanceCount)
  memory=$(deployed parameters.instanceMemoryMB)
  batch=$(deployed parameters.queueBatchSize)
  cap=$(deployed parameters.dedupeCap)
fi
[ "${cap:-0}" != 0 ] || cap=$(dedupe_cap "$memory")
if [ "$what" != show ]; then
  if [ "$what" = down ]; then minimum=$(deployed parameters.sqlMinVCores); else minimum=$(least "$vcores"); fi
  echo "database $database: at most $vcores vCores, at least $minimum"
  az sql db update -g "$group" -s "$server" -n "$database" --edition GeneralPurpose --family Gen5 --compute-model Serverless \
    --capacity "$vcores" --min-capacity "$minimum" --auto-pause-delay "$(deployed parameters.sqlAutoPauseMinutes)" -o none
  set_instances() {
    echo "app $app: at most $instances instances of $memory MB"
    az functionapp scale config set -g "$group" -n "$app" --maximum-instance-count "$instances" --instance-memory "$memory" -o none
  }
  set_settings() {
    echo "app $app: $batch messages at a time per instance, $cap accounts remembered for dedupe"
    az functionapp config appsettings set -g "$group" -n "$app" -o none --settings \
      "AzureFunctionsJobHost__extensions__queues__batchSize=$batch" "AzureFunctionsJobHost__extensions__queues__newBatchThreshold=$((batch / 2))" "HIBP_DEDUPECAP=$cap"
  }
  # The order ensures that no load begins with a cap that its instance can't hold.
  present=$(az functionapp scale config show -g "$group" -n "$app" --query instanceMemoryMB -o tsv)
  if [ "$memory" -lt "$present" ]; then
    set_settings
    set_instances
  else
    set_instances
    set_settings
  fi
fi

vcores=$(az sql db show -g "$group" -s "$server" -n "$database" --query sku.capacity -o tsv)
minimum=$(az sql db show -g "$group" -s "$server" -n "$database" --query minCapacity -o tsv)
region=$(az sql server show -g "$group" -n "$server" --query location -o tsv)
instances=$(az functionapp scale config show -g "$group" -n "$app" --query maximumInstanceCount -o tsv)
memory=$(az functionapp scale config show -g "$group" -n "$app" --query instanceMemoryMB -o tsv)

# Prints the highest price, because the free amount is listed as a price too:
# learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices
price() {
  local filter="armRegionName eq '$region' and priceType eq 'Consumption' and $1"
  filter=${filter// /%20}
  az rest --method get --skip-authorization-header --url "https://prices.azure.com/api/retail/prices?\$filter=${filter//\'/%27}" --query 'max_by(Items, &unitPrice).unitPrice' -o tsv 2>/dev/null || true
}
vcore_hour=$(price "serviceName eq 'SQL Database' and productName eq 'SQL Database General Purpose - Serverless - Compute Gen5' and skuName eq '1 vCore' and meterName eq 'vCore'")
gb_second=$(price "serviceName eq 'Functions' and productName eq 'Flex Consumption' and skuName eq 'On Demand' and meterName eq 'On Demand Execution Time'")

echo
echo "Cost of an hour in $region:"
if [ -n "$vcore_hour" ]; then
  awk -v p="$vcore_hour" -v most="$vcores" -v least="$minimum" 'BEGIN {
    printf "  database   %8.2f USD with all %s vCores busy, %.2f awake and idle (%s vCores), 0 paused: vCores x %s\n", most * p, most, least * p, least, p }'
else
  echo "  database   vCores in use (at least $minimum while awake, at most $vcores) x price of a vCore hour: https://azure.microsoft.com/pricing/details/azure-sql-database/single/"
fi
if [ -n "$gb_second" ]; then
  awk -v p="$gb_second" -v n="$instances" -v mb="$memory" 'BEGIN {
    printf "  functions  %8.2f USD with all %d instances busy, 0 idle: instances x %.1f GB x 3600 s x %s\n", n * mb / 1024 * 3600 * p, n, mb / 1024, p }'
else
  echo "  functions  busy instances (at most $instances) x $memory MB / 1024 x 3600 x price of a GB-second: https://azure.microsoft.com/pricing/details/functions/"
fi
echo "  plus storage, transactions and telemetry, which these settings don't affect"
