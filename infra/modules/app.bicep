// The pipeline's Functions app on Flex Consumption: an isolated worker that runs from the package in the
// host's storage account and signs in everywhere with one user-assigned identity.
param appName string
param planName string
param location string
param identityId string
param identityClientId string
param hostStorageAccountName string
param storageAccountName string
param storageBlobEndpoint string
param storageQueueEndpoint string
param packageContainerUrl string
param databaseConnection string
param appInsightsConnection string
param instanceMemoryMB int
param maximumInstanceCount int
param alwaysReady array
param queueBatchSize int
param transactionsInFlight int
param dedupeCap int
param notify string
@secure()
param mail string
param mailFrom string
param webUrl string
@secure()
param secretKey string
@secure()
param suppressionKey string
@secure()
param linkKeys string
@secure()
param commandKey string
param serviceName string
param serviceAddress string
param serviceContact string
param serviceLogo string
param unsubscribeMailto string
param dkimDomain string
param dkimSelector string
@secure()
param dkimKey string

var settings = {
  // The host's own storage account.
  AzureWebJobsStorage__accountName: hostStorageAccountName
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: identityClientId
  // The triggers' connection. The blob trigger needs the queue service too, because it puts permanent
  // failures into a queue of this account
  // (learn.microsoft.com/azure/azure-functions/functions-bindings-storage-blob-trigger#identity-based-connections).
  BreachStorage__blobServiceUri: storageBlobEndpoint
  BreachStorage__queueServiceUri: storageQueueEndpoint
  BreachStorage__credential: 'managedidentity'
  BreachStorage__clientId: identityClientId
  APPLICATIONINSIGHTS_CONNECTION_STRING: appInsightsConnection
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  // These override host.json by size
  // (learn.microsoft.com/azure/azure-functions/functions-host-json#override-hostjson-values).
  AzureFunctionsJobHost__extensions__queues__batchSize: string(queueBatchSize)
  AzureFunctionsJobHost__extensions__queues__newBatchThreshold: string(queueBatchSize / 2)
  // The app's own settings. AZURE_CLIENT_ID selects the identity for Azure.Identity.
  AZURE_CLIENT_ID: identityClientId
  HIBP_STORAGE: storageAccountName
  HIBP_DATABASE: databaseConnection
  HIBP_MAIL: mail
  // Flex Consumption ends a function after 30 minutes by default. Five remain to skip to the checkpoint and
  // to finish a batch.
  HIBP_TIMEBUDGET: '00:25:00'
  HIBP_TRANSACTIONSINFLIGHT: string(transactionsInFlight)
  HIBP_DEDUPECAP: string(dedupeCap)
  HIBP_NOTIFY: notify
}
var mailFromSettings = empty(mailFrom) ? {} : { HIBP_MAIL_FROM: mailFrom }
// The catalogue's links are made from it.
var webSettings = empty(webUrl) ? {} : { HIBP_WEB_URL: webUrl }
var secretSettings = empty(secretKey) ? {} : { HIBP_SECRET_KEY: secretKey }
var suppressionSettings = empty(suppressionKey) ? {} : { HIBP_SUPPRESSION_KEY: suppressionKey }
var linkKeysSettings = empty(linkKeys) ? {} : { HIBP_LINK_KEYS: linkKeys }
var commandKeySettings = empty(commandKey) ? {} : { HIBP_COMMAND_KEY: commandKey }
var serviceNameSettings = empty(serviceName) ? {} : { HIBP_SERVICE_NAME: serviceName }
var serviceAddressSettings = empty(serviceAddress) ? {} : { HIBP_SERVICE_ADDRESS: serviceAddress }
var serviceContactSettings = empty(serviceContact) ? {} : { HIBP_SERVICE_CONTACT: serviceContact }
var serviceLogoSettings = empty(serviceLogo) ? {} : { HIBP_SERVICE_LOGO: serviceLogo }
var dkimDomainSettings = empty(dkimDomain) ? {} : { HIBP_DKIM_DOMAIN: dkimDomain }
var dkimSelectorSettings = empty(dkimSelector) ? {} : { HIBP_DKIM_SELECTOR: dkimSelector }
var dkimKeySettings = empty(dkimKey) ? {} : { HIBP_DKIM_KEY: dkimKey }
var unsubscribeMailtoSettings = empty(unsubscribeMailto) ? {} : { HIBP_UNSUBSCRIBE_MAILTO: unsubscribeMailto }

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: planName
  location: location
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
  }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  name: appName
  location: location
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    siteConfig: {
      minTlsVersion: '1.2'
    }
    functionAppConfig: {
      runtime: {
        name: 'dotnet-isolated'
        version: '10.0'
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReady
      }
    }
  }

  resource appSettings 'config' = {
    name: 'appsettings'
    properties: union(
      settings,
      mailFromSettings,
      webSettings,
      secretSettings,
      suppressionSettings,
      linkKeysSettings,
      commandKeySettings,
      serviceNameSettings,
      serviceAddressSettings,
      serviceContactSettings,
      serviceLogoSettings,
      unsubscribeMailtoSettings,
      dkimDomainSettings,
      dkimSelectorSettings,
      dkimKeySettings
    )
  }

  // Publishing with a password is off.
  resource ftp 'basicPublishingCredentialsPolicies' = {
    name: 'ftp'
    properties: {
      allow: false
    }
  }

  resource scm 'basicPublishingCredentialsPolicies' = {
    name: 'scm'
    properties: {
      allow: false
    }
  }
}

output appName string = app.name
output host string = app.properties.defaultHostName
