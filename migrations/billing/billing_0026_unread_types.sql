-- Why a delivery could not be read, beside the type that it told: those of before have it as their type.
ALTER TABLE deliveries ADD COLUMN error TEXT;
