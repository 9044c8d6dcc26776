// Everything HibpIngest needs in a resource group, except the event subscription: that one needs the app's code running (events.bicep, deployed by deploy.sh after it).
// Sizes are in smallest.bicepparam and full-power.bicepparam; names of queues, containers and tables are the program's, and a test compares them.
targetScope = 'resourceGroup'

@description('Names begin with it; what must be unique in Azure gets a hash of the resource group behind it.')
@minLength(3)
@maxLength(11)
param name string = 'hibp'

@description('Azure region. It has to offer Flex Consumption: az functionapp list-flexconsumption-locations.')
param location string = resourceGroup().location

@description('Who administers the SQL server: name shown, object id and kind of a user, group or service principal. There is no SQL login.')
param sqlAdminName string
param sqlAdminObjectId string
@allowed(['User', 'Group', 'Application'])
param sqlAdminType string = 'User'

@description('Who runs hibp against this deployment: gets data roles on the account of zips, queues and tables, and none on the host\'s. The database lets in whom deploy.sh tells it. Empty: nobody.')
param operatorObjectId string = ''
@allowed(['User', 'Group', 'ServicePrincipal'])
param operatorType string = 'User'

@description('Who drops breaches, with any storage tool, and does nothing else: gets a role on the container breach alone. Empty: nobody but the operator.')
param dropperObjectId string = ''
@allowed(['User', 'Group', 'ServicePrincipal'])
param dropperType string = 'User'

@description('Who drops files of password hashes, with any storage tool, and does nothing else: gets a role on the container passwords-import alone. Empty: nobody but the operator.')
param hashesDropperObjectId string = ''
@allowed(['User', 'Group', 'ServicePrincipal'])
param hashesDropperType string = 'User'

@description('MB of an instance; 512 has a quarter of a core, 2048 one, 4096 two.')
@allowed([512, 2048, 4096])
param instanceMemoryMB int

@description('Most instances, all functions together. Each function scales by itself, so fewer than one for each lets them wait for one another.')
@minValue(15)
@maxValue(1000)
param maximumInstanceCount int

@description('Instances kept warm: [{ name: \'function:UpsertSlice\', instanceCount: 2 }]; the blob trigger\'s group is called blob. They cost while idle.')
param alwaysReady array = []

@description('Messages of a queue that an instance takes at a time; it fetches more when half of them are done.')
@minValue(1)
@maxValue(32)
param queueBatchSize int

@description('Entity group transactions at once, per slice.')
@minValue(1)
@maxValue(512)
param transactionsInFlight int

@description('Accounts remembered for dedupe, 24 bytes each; 0: what goes with the memory.')
@minValue(0)
param dedupeCap int = 0

@description('What becomes of a load\'s mails once they are matched: hold has them wait for hibp mail release, whatever the metadata beside the zip asks for.')
@allowed(['send', 'hold'])
param notify string

@description('vCores of the serverless database at most; 80 in some regions only.')
@allowed([1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 32, 40, 80])
param sqlMaxVCores int

@description('vCores at least while it is awake: 0.5 up to 4, else an eighth of the most. A string, as Bicep has no fractions.')
param sqlMinVCores string

@description('Minutes without a session after which the database pauses; -1: never.')
param sqlAutoPauseMinutes int = 60

param sqlMaxSizeGB int = 32

@description('Use the monthly free amount of Azure SQL (100,000 vCore seconds, 32 GB); what goes beyond it is billed. Can only be chosen when the database is made.')
param sqlFreeOffer bool = false

@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_GZRS'])
param storageSku string = 'Standard_LRS'

param logRetentionDays int = 30

@description('GB of telemetry a day, then ingestion stops until the next; -1: no cap.')
param logDailyCapGB int = -1

@description('HIBP_MAIL: smtp://user:password@host:port?tls=starttls')
@secure()
param mail string

@description('HIBP_MAIL_FROM.')
param mailFrom string = ''

@description('HIBP_SECRET_KEY: 32 bytes in base64, or several such with commas between; without it no encrypted archive can be loaded, and no client called.')
@secure()
param secretKey string = ''

@description('HIBP_SUPPRESSION_KEY: 32 bytes or more in base64, that those who are not to be told are known by; never changed, and kept outside of Azure too.')
@secure()
param suppressionKey string = ''

@description('HIBP_SERVICE_NAME.')
param serviceName string = ''

@description('HIBP_SERVICE_ADDRESS.')
param serviceAddress string = ''

@description('HIBP_SERVICE_CONTACT.')
param serviceContact string = ''

@description('HIBP_SERVICE_LOGO.')
param serviceLogo string = ''

@description('HIBP_UNSUBSCRIBE_MAILTO.')
param unsubscribeMailto string = ''

@description('HIBP_DKIM_DOMAIN: domain that signs the mails.')
param dkimDomain string = ''

@description('HIBP_DKIM_SELECTOR: name of the key in that domain.')
param dkimSelector string = ''

@description('HIBP_DKIM_KEY: PEM of the private key.')
@secure()
param dkimKey string = ''

@description('Where alerts go. Empty: they show in the portal only.')
param alertEmail string = ''

@description('Whether there is a web app too: the API, for whoever has a key. It has an identity, a host storage account and a plan of its own.')
param web bool = true

@description('HIBP_WEB_URL: where people reach the API, https://HOST; links are made from it. Empty: the web app\'s own address.')
param webUrl string = ''

@description('HIBP_PROXIES. Where the host proxies requests it replaces X-Forwarded-For by the one address that it sees, whatever stands before it.')
@minValue(0)
@maxValue(16)
param webProxies int = 1

@description('MB of an instance of the web app; 512 has a quarter of a core, 2048 one, 4096 two.')
@allowed([512, 2048, 4096])
param webInstanceMemoryMB int

@description('Most instances of the web app. Limits of keys count for each by itself.')
@minValue(1)
@maxValue(1000)
param webMaximumInstanceCount int

@description('Requests that an instance of the web app takes at once before another is started.')
@minValue(1)
@maxValue(1000)
param webConcurrency int

@description('Instances of the web app kept warm: [{ name: \'http\', instanceCount: 1 }]. They cost while idle.')
param webAlwaysReady array = []

@description('Region of a second web app, and of an account that Pwned Passwords are copied to and that it reads first. Empty: none. It has to offer Flex Consumption too.')
param secondLocation string = ''

@description('Of the second region\'s accounts. What they hold is copied or deployed again when it is lost.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_GZRS'])
param secondStorageSku string = 'Standard_LRS'

var suffix = uniqueString(resourceGroup().id)
var appName = '${name}-app-${suffix}'
var webAppName = '${name}-web-${suffix}'
// Readers alone are in more regions; the pipeline and what it writes are in one.
var hasSecond = web && !empty(secondLocation)
var secondWebAppName = '${name}-web2-${suffix}'
// Not asked of the web app, so that the other needs not wait for it.
var webAddress = !empty(webUrl) ? webUrl : web ? 'https://${webAppName}.azurewebsites.net' : ''

// By MB of an instance. Told, and not left to the program, as a load keeps the cap that it began with: it must not begin with one that another
// instance can't hold. At most 40% of the three quarters of its memory that the runtime takes in a container, as the program reckons by itself;
// at 512 MB less, since the host and what ingest needs beside (155 MB) leave no more. scale.sh has the same.
var dedupeCaps = {
  '512': 2000000
  '2048': 25000000
  '4096': 50000000
}

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: '${name}-app'
  location: location
}

resource webIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = if (web) {
  name: '${name}-web'
  location: location
}

resource secondWebIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = if (hasSecond) {
  name: '${name}-web2'
  location: secondLocation
}

module storage 'modules/storage.bicep' = {
  name: '${name}-storage'
  params: {
    accountName: '${name}${suffix}'
    location: location
    sku: storageSku
    appPrincipalId: identity.properties.principalId
    webPrincipalId: web ? webIdentity!.properties.principalId : ''
    secondWebPrincipalId: hasSecond ? secondWebIdentity!.properties.principalId : ''
    operatorObjectId: operatorObjectId
    operatorType: operatorType
    dropperObjectId: dropperObjectId
    dropperType: dropperType
    hashesDropperObjectId: hashesDropperObjectId
    hashesDropperType: hashesDropperType
  }
}

module host 'modules/host.bicep' = {
  name: '${name}-host'
  params: {
    // Another hash: no two names may ever meet.
    accountName: '${take(name, 7)}host${uniqueString(resourceGroup().id, 'host')}'
    location: location
    sku: storageSku
    appPrincipalId: identity.properties.principalId
    hasTriggers: true
  }
}

// Of the web's own: whoever may write where a package is runs code as that app, and the web is what strangers reach.
module webHost 'modules/host.bicep' = if (web) {
  name: '${name}-web-host'
  params: {
    accountName: '${take(name, 7)}webh${uniqueString(resourceGroup().id, 'web-host')}'
    location: location
    sku: storageSku
    appPrincipalId: webIdentity!.properties.principalId
    hasTriggers: false
  }
}

module secondWebHost 'modules/host.bicep' = if (hasSecond) {
  name: '${name}-web2-host'
  params: {
    accountName: '${take(name, 7)}web2${uniqueString(resourceGroup().id, 'web2-host')}'
    location: secondLocation
    sku: secondStorageSku
    appPrincipalId: secondWebIdentity!.properties.principalId
    hasTriggers: false
  }
}

module replica 'modules/replica.bicep' = if (hasSecond) {
  name: '${name}-replica'
  params: {
    accountName: '${take(name, 7)}repl${uniqueString(resourceGroup().id, 'replica')}'
    location: secondLocation
    sku: secondStorageSku
    webPrincipalId: secondWebIdentity!.properties.principalId
    operatorObjectId: operatorObjectId
    operatorType: operatorType
  }
}

module database 'modules/database.bicep' = {
  name: '${name}-database'
  params: {
    serverName: '${name}-sql-${suffix}'
    location: location
    adminName: sqlAdminName
    adminObjectId: sqlAdminObjectId
    adminType: sqlAdminType
    maxVCores: sqlMaxVCores
    minVCores: sqlMinVCores
    autoPauseMinutes: sqlAutoPauseMinutes
    maxSizeGB: sqlMaxSizeGB
    freeOffer: sqlFreeOffer
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: '${name}-monitoring'
  params: {
    name: name
    location: location
    retentionDays: logRetentionDays
    dailyCapGB: logDailyCapGB
    alertEmail: alertEmail
    appPrincipalId: identity.properties.principalId
    webPrincipalId: web ? webIdentity!.properties.principalId : ''
    secondWebPrincipalId: hasSecond ? secondWebIdentity!.properties.principalId : ''
  }
}

module app 'modules/app.bicep' = {
  name: '${name}-app'
  params: {
    appName: appName
    planName: '${name}-plan'
    location: location
    identityId: identity.id
    identityClientId: identity.properties.clientId
    hostStorageAccountName: host.outputs.accountName
    packageContainerUrl: host.outputs.packageContainerUrl
    storageAccountName: storage.outputs.accountName
    storageBlobEndpoint: storage.outputs.blobEndpoint
    storageQueueEndpoint: storage.outputs.queueEndpoint
    databaseConnection: database.outputs.connection
    appInsightsConnection: monitoring.outputs.connection
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    alwaysReady: alwaysReady
    queueBatchSize: queueBatchSize
    transactionsInFlight: transactionsInFlight
    dedupeCap: dedupeCap > 0 ? dedupeCap : dedupeCaps[string(instanceMemoryMB)]
    notify: notify
    webUrl: webAddress
    mail: mail
    mailFrom: mailFrom
    secretKey: secretKey
    suppressionKey: suppressionKey
    serviceName: serviceName
    serviceAddress: serviceAddress
    serviceContact: serviceContact
    serviceLogo: serviceLogo
    unsubscribeMailto: unsubscribeMailto
    dkimDomain: dkimDomain
    dkimSelector: dkimSelector
    dkimKey: dkimKey
  }
}

module webApp 'modules/web.bicep' = if (web) {
  name: '${name}-web'
  params: {
    appName: webAppName
    planName: '${name}-web-plan'
    location: location
    identityId: webIdentity.id
    identityClientId: webIdentity!.properties.clientId
    hostStorageAccountName: webHost!.outputs.accountName
    packageContainerUrl: webHost!.outputs.packageContainerUrl
    storageAccountName: storage.outputs.accountName
    nearestAccountName: ''
    appInsightsConnection: monitoring.outputs.connection
    webUrl: webAddress
    proxies: webProxies
    instanceMemoryMB: webInstanceMemoryMB
    maximumInstanceCount: webMaximumInstanceCount
    concurrency: webConcurrency
    alwaysReady: webAlwaysReady
  }
}

// The web app of the second region has the same package and sizes. Links are made from the one address that people know, wherever they are answered from.
module secondWebApp 'modules/web.bicep' = if (hasSecond) {
  name: '${name}-web2'
  params: {
    appName: secondWebAppName
    planName: '${name}-web2-plan'
    location: secondLocation
    identityId: secondWebIdentity.id
    identityClientId: secondWebIdentity!.properties.clientId
    hostStorageAccountName: secondWebHost!.outputs.accountName
    packageContainerUrl: secondWebHost!.outputs.packageContainerUrl
    storageAccountName: storage.outputs.accountName
    nearestAccountName: replica!.outputs.accountName
    appInsightsConnection: monitoring.outputs.connection
    webUrl: webAddress
    proxies: webProxies
    instanceMemoryMB: webInstanceMemoryMB
    maximumInstanceCount: webMaximumInstanceCount
    concurrency: webConcurrency
    alwaysReady: webAlwaysReady
  }
}

output storageAccountName string = storage.outputs.accountName
output dropContainer string = storage.outputs.dropContainer
output appName string = app.outputs.appName
output appHost string = app.outputs.host
output identityName string = identity.name
output identityClientId string = identity.properties.clientId
output sqlServerName string = database.outputs.serverName
output sqlServerHost string = database.outputs.host
output sqlDatabaseName string = database.outputs.databaseName
output sqlConnection string = database.outputs.connection
output eventTopicName string = storage.outputs.eventTopicName
output undeliveredContainer string = storage.outputs.undeliveredContainer
output workbookId string = monitoring.outputs.workbookId
output webAppName string = web ? webAppName : ''
output webUrl string = webAddress
output secondWebAppName string = hasSecond ? secondWebAppName : ''
output secondWebUrl string = hasSecond ? 'https://${secondWebAppName}.azurewebsites.net' : ''
output replicaAccountName string = hasSecond ? replica!.outputs.accountName : ''
